"""What is told, and to whom, while a model is fetched and converted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """How far one step of a pull has got."""

    step: str  # what is being done, in a few words, e.g. "download smollm2-135m"
    done: int = 0  # bytes, 0 … total
    total: int = 0  # bytes; 0 where there is nothing to count


Observer = Callable[[Progress], None]


def silent(progress: Progress) -> None:
    """The observer that shows nothing."""
