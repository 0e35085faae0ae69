"""What a run tells those who watch it. The algorithm never prints: displays and loggers observe."""

from __future__ import annotations

from coevo.attempt import Attempt
from coevo.es.directions import Update
from coevo.llm.base import Completion
from coevo.stop.base import Progress


class Observer:
    """Ignores everything; override what you need. Calls come from the run's own thread."""

    def proposed(self, attempts: list[Attempt]) -> None:
        """A generation was proposed; the model starts writing."""

    def written(self, attempt: Attempt, completion: Completion) -> None:
        """The model has finished one reply."""

    def judged(self, attempt: Attempt) -> None:
        """An attempt has reached its stage."""

    def improved(self, attempt: Attempt) -> None:
        """The attempt is the new incumbent."""

    def updated(self, update: Update) -> None:
        """The weights took a step, or skipped it."""

    def closed(self, progress: Progress) -> None:
        """The generation is on disk."""
