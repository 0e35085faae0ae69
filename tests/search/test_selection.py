from __future__ import annotations

import numpy as np
import pytest

from coevo.search.individual import Individual
from coevo.search.selection import by_rank
from coevo.streams import stream

POPULATION = [Individual(n, float(n), "", "", "min") for n in range(10)]


def test_weights_are_those_of_eoh() -> None:
    drawn = [one.number for one in by_rank(POPULATION, 200_000, 10, stream(0, "test"))]
    share = np.bincount(drawn, minlength=10) / len(drawn)
    weight = np.array([1 / (rank + 1 + 10) for rank in range(10)])
    assert np.allclose(share, weight / weight.sum(), atol=0.004)


def test_draws_with_replacement() -> None:
    assert len(by_rank(POPULATION[:1], 2, 10, stream(0, "test"))) == 2


def test_an_empty_population_has_no_parents() -> None:
    with pytest.raises(ValueError, match="no parents"):
        by_rank([], 1, 10, stream(0, "test"))
