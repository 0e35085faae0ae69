"""Stop when time is up."""

from __future__ import annotations

from dataclasses import dataclass

from coevo.stop.base import Progress


@dataclass(frozen=True)
class MaxSeconds:
    """``limit`` seconds of wall clock; the generation in flight is finished."""

    limit: float

    def __call__(self, progress: Progress) -> str | None:
        return f"{progress.seconds:.0f} s have passed" if progress.seconds >= self.limit else None
