"""Parent selection."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from coevo.search.individual import Individual


def by_rank(
    population: Sequence[Individual], count: int, size: int, rng: np.random.Generator
) -> list[Individual]:
    """Draw ``count`` parents from a population sorted best first, with replacement.

    Rank r (0 is best) has weight 1 / (r + 1 + size), ``size`` being that of a full population, as
    in EoH: the best of ten is not twice as likely as the worst. Raises ValueError if it is empty.
    """
    if not population:
        raise ValueError("no parents to choose from: ask for i1 until something is scored")
    weights = 1.0 / (np.arange(len(population)) + 1 + size)
    drawn = rng.choice(len(population), size=count, p=weights / weights.sum())
    return [population[int(i)] for i in drawn]
