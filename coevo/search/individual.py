"""A scored heuristic as the search breeds it."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from deap import base

from coevo.attempt import Attempt
from coevo.problems.base import Sense

DECIMALS = 5  # objectives that agree so far are one objective


class Minimised(base.Fitness):
    """Smaller objectives are fitter (DEAP's convention: negative weight)."""

    weights = (-1.0,)


class Maximised(base.Fitness):
    """Larger objectives are fitter."""

    weights = (1.0,)


@dataclass(frozen=True)
class Individual:
    """A scored heuristic. ``objective`` is finite, raw, rounded to `DECIMALS`."""

    number: int  # of the attempt that it was
    objective: float
    idea: str
    code: str
    sense: Sense

    @property
    def fitness(self) -> base.Fitness:
        """Compares as DEAP expects: greater is fitter."""
        return (Minimised if self.sense == "min" else Maximised)((self.objective,))

    def state(self) -> dict[str, Any]:
        """Plain JSON data; ``Individual(**state)`` brings it back."""
        return asdict(self)


def individual(attempt: Attempt, sense: Sense) -> Individual | None:
    """The attempt as an individual, or None unless it was scored with a finite objective."""
    if not attempt.scored or attempt.objective is None or not math.isfinite(attempt.objective):
        return None
    objective = round(float(attempt.objective), DECIMALS)
    return Individual(attempt.number, objective, attempt.idea, attempt.code, sense)


def same_objective(one: Individual, other: Individual) -> bool:
    return one.objective == other.objective
