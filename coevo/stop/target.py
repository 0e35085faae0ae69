"""Stop when the incumbent is good enough."""

from __future__ import annotations

from dataclasses import dataclass

from coevo.stop.base import Progress


@dataclass(frozen=True)
class Target:
    """The objective ``value`` is reached on the train set, in the problem's sense."""

    value: float

    def __call__(self, progress: Progress) -> str | None:
        best = progress.incumbent
        if best is None:
            return None
        reached = best <= self.value if progress.sense == "min" else best >= self.value
        return f"target {self.value:g} reached" if reached else None
