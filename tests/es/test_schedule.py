from __future__ import annotations

import doctest
import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.es import schedule
from coevo.es.schedule import SCHEDULES, scheduled


def published(step: int, total: int, start: float, end: float, warmup: int) -> float:
    """The formula of the paper, written again."""
    if total <= 1:
        return start
    warmup = min(warmup, max(0, total - 1))
    if step == total - 1:
        return end
    if step < warmup:
        return start
    p = (step - warmup) / max(1, total - 1 - warmup)
    return end + (start - end) * (1 + math.cos(math.pi * p)) / 2


@given(st.integers(1, 60), st.integers(0, 70), st.data())
def test_cosine_is_the_published_one(total: int, warmup: int, data: st.DataObject) -> None:
    step = data.draw(st.integers(0, total - 1))
    value = scheduled("cosine", step, total, 1e-3, 2.5e-4, warmup)
    assert value == pytest.approx(published(step, total, 1e-3, 2.5e-4, warmup), rel=1e-12)


@given(
    st.sampled_from(["linear", "cosine"]),
    st.integers(2, 100),
    st.floats(1e-6, 1.0),
    st.floats(0, 1.0),
    st.integers(0, 200),
)
def test_end_points_are_exact(name: str, total: int, start: float, end: float, warmup: int) -> None:
    values = [scheduled(name, t, total, start, end, warmup) for t in range(total + 3)]
    assert values[0] == pytest.approx(start, rel=1e-15)
    assert values[total - 1 :] == [end] * 4
    steps = [b - a for a, b in pairwise(values)]
    assert all(s * (end - start) >= -1e-15 for s in steps)  # one way only


def test_constant_ignores_the_end() -> None:
    assert [scheduled("constant", t, 4, 1e-3, 0.0) for t in range(5)] == [1e-3] * 5


@pytest.mark.parametrize("name", SCHEDULES)
def test_a_single_step_is_the_start(name: str) -> None:
    assert scheduled(name, 0, 1, 1e-3, 0.0) == 1e-3
    assert scheduled(name, 0, 1, 1e-3, 0.0, warmup_steps=5) == 1e-3


def test_the_floor_holds() -> None:
    values = [scheduled("cosine", t, 20, 1e-3, 0.0, floor=1e-4) for t in range(20)]
    assert min(values) == 1e-4
    assert max(values) == 1e-3


def test_errors() -> None:
    with pytest.raises(ValueError, match=r"choose one of constant, linear, cosine"):
        scheduled("exponential", 0, 5, 1.0, 0.0)
    with pytest.raises(ValueError, match="negative"):
        scheduled("linear", -1, 5, 1.0, 0.0)


def test_docstrings() -> None:
    assert doctest.testmod(schedule).failed == 0
