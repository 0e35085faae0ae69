"""Stop when the model has written enough."""

from __future__ import annotations

from dataclasses import dataclass

from coevo.stop.base import Progress


@dataclass(frozen=True)
class MaxTokens:
    """``limit`` new tokens; the generation in flight is finished."""

    limit: int

    def __call__(self, progress: Progress) -> str | None:
        return f"{progress.tokens} tokens written" if progress.tokens >= self.limit else None
