"""The incumbent: the best attempt so far."""

from __future__ import annotations

from collections.abc import Iterable

from coevo.attempt import Attempt
from coevo.problems.base import Sense


def incumbent(attempts: Iterable[Attempt | None], sense: Sense) -> Attempt | None:
    """The scored attempt with the best objective; of equals the first. None if none is scored."""
    sign = 1.0 if sense == "min" else -1.0
    best, least = None, float("inf")
    for attempt in attempts:
        if attempt is not None and attempt.objective is not None:
            cost = sign * attempt.objective
            if cost < least:
                best, least = attempt, cost
    return best
