"""The incumbent: the best attempt so far."""

from __future__ import annotations

from collections.abc import Iterable

from coevo.attempt import Attempt
from coevo.problems.base import Sense


def incumbent(attempts: Iterable[Attempt | None], sense: Sense) -> Attempt | None:
    """The scored attempt with the best objective; of equals the first. None if none is scored."""
    best = None
    for attempt in attempts:
        if attempt is None or attempt.objective is None:
            continue
        if best is None or best.objective is None:
            best = attempt
        elif sense == "min" and attempt.objective < best.objective:
            best = attempt
        elif sense == "max" and attempt.objective > best.objective:
            best = attempt
    return best
