"""Stop when the budget of attempts is spent."""

from __future__ import annotations

from dataclasses import dataclass

from coevo.stop.base import Progress


@dataclass(frozen=True)
class MaxAttempts:
    """``limit`` attempts, failures and initialisation included. Kept to exactly."""

    limit: int

    def __call__(self, progress: Progress) -> str | None:
        return f"budget of {self.limit} attempts spent" if self.left(progress) <= 0 else None

    def left(self, progress: Progress) -> int:
        return self.limit - progress.attempts
