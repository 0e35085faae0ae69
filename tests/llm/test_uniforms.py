from __future__ import annotations

import numpy as np

from coevo.llm.uniforms import uniforms


def test_a_number_depends_on_its_seed_and_counter_only() -> None:
    seeds = np.array([1, 2, 3, 2**63 - 1], np.uint64)
    counters = np.array([0, 5, 7, 1], np.uint64)
    whole = uniforms(seeds, counters)
    alone = [uniforms(seeds[i : i + 1], counters[i : i + 1])[0] for i in range(4)]
    assert whole.tolist() == alone


def test_numbers_are_uniform_and_uncorrelated() -> None:
    k = np.arange(20000, dtype=np.uint64)
    x = uniforms(np.full(20000, 7, np.uint64), k)
    y = uniforms(k, np.full(20000, 3, np.uint64))
    for u in (x, y):
        assert u.min() >= 0
        assert u.max() < 1
        counts = np.bincount((u * 20).astype(int), minlength=20)
        assert ((counts - 1000) ** 2 / 1000).sum() < 43.8  # chi-square, 19 degrees, 0.1 %
    neighbour = uniforms(np.full(20000, 8, np.uint64), k)
    assert abs(np.corrcoef(x, neighbour)[0, 1]) < 0.03
    assert abs(np.corrcoef(x[1:], x[:-1])[0, 1]) < 0.03


def test_the_numbers_stay_what_they_are() -> None:
    """Recorded runs must replay: changing these numbers needs a new version of the store."""
    got = uniforms(np.array([0, 1], np.uint64), np.array([0, 1], np.uint64))
    assert got.tolist() == [0.6524484863740322, 0.9435642308648544]
