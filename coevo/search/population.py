"""Population management: who survives."""

from __future__ import annotations

from collections.abc import Iterable

from deap import tools

from coevo.search.individual import Individual


def survivors(individuals: Iterable[Individual], size: int) -> list[Individual]:
    """The ``size`` best, best first, one individual per objective; the earliest attempt wins ties.

    One per objective keeps ten renamings of one rule from filling the population (EoH).
    """
    first: dict[float, Individual] = {}
    for one in sorted(individuals, key=lambda one: one.number):
        first.setdefault(one.objective, one)
    return list(tools.selBest(list(first.values()), size))
