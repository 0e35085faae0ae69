"""The contract of a stopping rule."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from coevo.problems.base import Sense


@dataclass(frozen=True)
class Progress:
    """How far a run has come, over all its sittings. Rules look at it between generations."""

    sense: Sense
    attempts: int = 0  # that spent budget
    tokens: int = 0  # written by the model
    seconds: float = 0.0  # wall clock
    incumbent: float | None = None  # best objective so far


class StoppingRule(Protocol):
    """Says why the run should end now, in a few words, or None if it need not."""

    def __call__(self, progress: Progress) -> str | None: ...


def first_reason(rules: Iterable[StoppingRule], progress: Progress) -> str | None:
    """The first rule's reason to end, or None."""
    return next((reason for rule in rules if (reason := rule(progress))), None)
