"""The contract of a language model backend."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

from coevo.attempt import Prompt
from coevo.es.directions import Directions, Update


@dataclass(frozen=True)
class Sampling:
    """How to decode."""

    max_new_tokens: int = 256  # upper limit of a reply
    temperature: float = 1.0  # > 0; divides the logits
    top_p: float = 0.98  # nucleus: smallest set of tokens with at least this mass, (0, 1]
    min_p: float = 0.0  # drop tokens below this share of the likeliest one's probability, [0, 1)


@dataclass(frozen=True)
class Completion:
    """A reply, without the part that was begun for the model."""

    text: str
    tokens: int  # new tokens
    finish: Literal["stop", "eos", "length"]  # code complete, end of turn, or limit reached
    seconds: float  # this reply's share of the batch's wall-clock time


OnCompletion = Callable[[int, Completion], None]


class LanguageModel(Protocol):
    """A backend that writes. Completion i depends on prompt i, seed i and direction i."""

    name: str
    continues: bool  # whether ``Prompt.begun`` can be continued
    order_free: bool  # whether a completion is the same, bit for bit, in any batch
    notice: str  # what the user must be told about this backend; usually empty

    def generate(
        self,
        prompts: Sequence[Prompt],
        sampling: Sampling,
        seeds: Sequence[int],
        directions: Directions | None = None,
        on_completion: OnCompletion | None = None,
    ) -> list[Completion]:
        """Complete every prompt. ``on_completion(i, completion)`` is called as each one ends."""
        ...


@runtime_checkable
class EvolvableModel(Protocol):
    """A backend whose weights can evolve."""

    def apply(self, update: Update) -> None:
        """Move the live weights by the update; nothing is lost to bf16 rounding."""
        ...

    def digest(self) -> str:
        """Hash (hex) of the live weights."""
        ...

    def save(self, path: Path) -> None:
        """Write the live weights as a Hugging Face directory."""
        ...
