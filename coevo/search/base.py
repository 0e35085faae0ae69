"""The contract of a search method: ask for proposals, tell what became of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from coevo.attempt import Attempt, Proposal


class Search(Protocol):
    """A search method. It never sees a model, a sandbox or a file.

    ``ask`` and ``tell`` alternate. ``state`` is plain JSON data that holds everything needed to go
    on, random state included: ``restore(state())`` on a fresh object gives the same future.
    """

    settings: Any  # of this method, a frozen dataclass

    def ask(self, budget_left: int) -> list[Proposal]:
        """The next batch, 1 … ``budget_left`` proposals: they are written and run together."""
        ...

    def tell(self, attempts: Sequence[Attempt]) -> None:
        """What became of the last batch, in the order of asking, each with its final stage."""
        ...

    def batches(self, budget: int) -> int:
        """About how many batches a whole run of ``budget`` attempts takes, at least 1."""
        ...

    def state(self) -> dict[str, Any]: ...

    def restore(self, state: dict[str, Any]) -> None: ...
