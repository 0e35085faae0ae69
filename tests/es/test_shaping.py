from __future__ import annotations

import doctest

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.attempt import Attempt, Stage
from coevo.es import shaping
from coevo.es.shaping import SHAPINGS, centred_ranks, paper, staged, standardised, zscore
from tests.es.attempts import attempt

OURS = ["staged", "centred-ranks", "zscore"]
FAILURES = [s for s in Stage if s is not Stage.SCORED]

objectives = st.one_of(
    st.floats(-1e6, 1e6), st.sampled_from([0.0, 7.0, 7.00001, -1e300, 1e300, 1e-300])
)


@st.composite
def batches(draw: st.DrawFn) -> list[Attempt]:
    operator = st.sampled_from(["e1", "m1"])
    scored = st.builds(
        lambda objective, operator: attempt(0, objective, operator=operator), objectives, operator
    )
    failed = st.builds(
        lambda stage, operator: attempt(0, stage=stage, operator=operator),
        st.sampled_from(FAILURES),
        operator,
    )
    return draw(st.lists(st.one_of(scored, failed), max_size=12))


@pytest.mark.parametrize("name", OURS)
@given(batches(), st.sampled_from(["min", "max"]))
def test_order_is_kept(name: str, batch: list[Attempt], sense: str) -> None:
    rewards = SHAPINGS[name](batch, {}, sense)  # type: ignore[arg-type]
    assert rewards.shape == (len(batch),)
    assert rewards.dtype == np.float64
    for operator in ("e1", "m1"):
        group = [
            (a, r)
            for a, r in zip(batch, rewards, strict=True)
            if a.operator == operator and a.stage is not Stage.INFRASTRUCTURE
        ]
        assert abs(sum(r for _, r in group)) < 1e-9
        for a, r in group:
            for b, q in group:
                if a.scored and not b.scored:
                    assert r >= q  # > unless a whole batch is 1e300 apart
                if a.scored and b.scored:
                    gain = round(b.objective, 5) - round(a.objective, 5)  # type: ignore[operator]
                    gain = gain if sense == "min" else -gain
                    assert r == q if gain == 0 else (r - q) * gain >= 0
                if name == "staged" and a.stage.rank > b.stage.rank:
                    assert r > q


@pytest.mark.parametrize("name", SHAPINGS)
@given(batches(), st.randoms())
def test_a_batch_has_no_order(name: str, batch: list[Attempt], random) -> None:  # type: ignore[no-untyped-def]
    shuffled = list(enumerate(batch))
    random.shuffle(shuffled)
    rewards = SHAPINGS[name](batch, {}, "min")
    moved = SHAPINGS[name]([a for _, a in shuffled], {}, "min")
    np.testing.assert_allclose(moved, rewards[[i for i, _ in shuffled]], atol=1e-9)


@pytest.mark.parametrize("name", SHAPINGS)
@given(st.floats(-1e9, 1e9), st.integers(1, 40))
def test_equal_rewards_are_zeros(name: str, objective: float, count: int) -> None:
    batch = [attempt(i, objective) for i in range(count)]
    assert not SHAPINGS[name](batch, {}, "min").any()


@pytest.mark.parametrize("name", SHAPINGS)
def test_the_machines_fault_is_no_reward(name: str) -> None:
    batch = [attempt(1, 3.0), attempt(2, stage=Stage.INFRASTRUCTURE), attempt(3, 5.0), attempt(4)]
    rewards = SHAPINGS[name](batch, {}, "min")
    assert np.isnan(rewards).tolist() == [False, True, False, False]
    del batch[1]
    assert np.array_equal(np.delete(rewards, 1), SHAPINGS[name](batch, {}, "min"))


@pytest.mark.parametrize("name", SHAPINGS)
def test_an_operators_difficulty_is_no_reward(name: str) -> None:
    hard = [attempt(i, objective, operator="e1") for i, objective in enumerate([9.0, 9.5])]
    easy = [attempt(i, objective, operator="m2") for i, objective in enumerate([1.0, 1.5])]
    rewards = SHAPINGS[name]([*hard, *easy], {}, "min")
    assert rewards == pytest.approx([1, -1, 1, -1])


@pytest.mark.parametrize("name", SHAPINGS)
def test_degenerate_batches(name: str) -> None:
    assert SHAPINGS[name]([], {}, "min").shape == (0,)
    assert SHAPINGS[name]([attempt(1, 3.0)], {}, "min").tolist() == [0]
    assert SHAPINGS[name]([attempt(1), attempt(2)], {}, "min").tolist() == [0, 0]


def test_ranks_have_unit_variance_without_ties_and_less_with() -> None:
    apart = centred_ranks([attempt(i, float(i)) for i in range(10)], {}, "min")
    assert apart.var() == pytest.approx(1)
    assert np.array_equal(apart, -apart[::-1])
    one_better = centred_ranks([attempt(i, float(i == 0)) for i in range(10)], {}, "max")
    assert one_better.var() == pytest.approx(0.2727, abs=1e-4)


def test_staged_orders_failures() -> None:
    stages = sorted((s for s in FAILURES if s.rank >= 0), key=lambda s: s.rank)
    rewards = staged([attempt(0, stage=s) for s in stages] + [attempt(0, 1e9)], {}, "min")
    assert (np.diff(rewards) > 0).all()


def test_zscore_puts_invalid_a_deviation_below_the_worst() -> None:
    rewards = zscore([attempt(1, 1.0), attempt(2, 3.0), attempt(3)], {}, "max")
    assert rewards[1] - rewards[0] == pytest.approx(2 * (rewards[0] - rewards[2]))


def test_paper_for_children() -> None:
    population = {1: attempt(1, 10.0), 2: attempt(2, 14.0), 3: attempt(3)}
    batch = [
        attempt(4, 9.0, parents=(1,)),  # better: 10 - 9 = 1
        attempt(5, 12.0, parents=(1,)),  # worse than its parent: -2
        attempt(6, parents=(1,)),  # invalid: 10 - min(14, 11) = -1, above the valid one
        attempt(7, 20.0, parents=(1,)),  # worse than the population's worst: the same
        attempt(8, parents=(2,)),  # invalid: 14 - min(14, 15) = 0
    ]
    assert paper(batch, population, "min") == pytest.approx(
        standardised(np.array([1, -2, -1, -1, 0]))
    )
    mirrored = {n: attempt(n, a.objective and -a.objective) for n, a in population.items()}
    flipped = [attempt(a.number, a.objective and -a.objective, parents=a.parents) for a in batch]
    assert paper(flipped, mirrored, "max") == pytest.approx(paper(batch, population, "min"))


def test_paper_for_samples() -> None:
    rewards = paper([attempt(1, 2.0), attempt(2, 4.0), attempt(3)], {}, "min")
    assert rewards == pytest.approx(standardised(np.array([-2.0, -4.0, -5.0])))
    level = paper([attempt(1, 200.0), attempt(2, 200.0), attempt(3)], {}, "min")
    assert level == pytest.approx(standardised(np.array([-200.0, -200.0, -202.0])))


def test_a_scored_attempt_needs_an_objective() -> None:
    with pytest.raises(ValueError, match="attempt 7 is scored but has no objective"):
        staged([attempt(7, stage=Stage.SCORED)], {}, "min")


def test_docstrings() -> None:
    assert doctest.testmod(shaping).failed == 0
