from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from coevo.attempt import Attempt, Stage
from coevo.es.directions import Directions, Update
from coevo.es.noise import gaussian, lowrank_factors
from coevo.es.strategy import ESSettings, EvolutionStrategy
from coevo.es.update import apply_full, apply_lowrank
from coevo.streams import stream_seed
from tests.es.attempts import attempt


def strategy(total: int = 10, seed: int = 7, **settings: object) -> EvolutionStrategy:
    return EvolutionStrategy(replace(ESSettings(), **settings), seed, total)  # type: ignore[arg-type]


def answer(directions: Directions, *objectives: float | None) -> list[Attempt]:
    """One attempt per direction, in order; None raised."""
    return [
        attempt(i, objective, direction=seed)
        for i, (seed, objective) in enumerate(zip(directions.seeds, objectives, strict=True))
    ]


def test_directions_come_from_the_runs_seed_and_the_step() -> None:
    es = strategy(rank=3)
    first = es.ask(4)
    assert first == es.ask(4) == strategy(rank=3).ask(4)
    assert first.seeds == tuple(stream_seed(7, "direction", 0, i) for i in range(4))
    assert (first.kind, first.sigma, first.rank) == ("lowrank", 1e-3, 3)
    es.tell(answer(first, 1.0, 2.0, 3.0, 4.0), {}, "min")
    second = es.ask(4)
    assert not set(first.seeds) & set(second.seeds)
    assert second.seeds == tuple(stream_seed(7, "direction", 1, i) for i in range(4))


def test_the_update_weighs_the_better_ones_up() -> None:
    es = strategy()
    update = es.tell(answer(es.ask(3), 7.0, 6.0, None), {}, "min")
    assert not update.skipped
    assert update.seeds == strategy().ask(3).seeds
    assert update.weights[1] > update.weights[0] > update.weights[2]
    assert sum(update.weights) == pytest.approx(0)
    es = strategy()
    assert es.tell(answer(es.ask(3), 7.0, 6.0, None), {}, "max").weights[0] > update.weights[0]


def test_sigma_and_alpha_follow_the_schedule() -> None:
    es = strategy(total=5, sigma_final=0.0, warmup_steps=1)
    seen = []
    for _ in range(6):
        update = es.tell(answer(es.ask(2), 1.0, 2.0), {}, "min")
        seen.append((update.sigma, update.alpha))
    assert seen[0] == seen[1] == (1e-3, 5e-4)
    assert seen[4] == seen[5] == (1e-4, pytest.approx(5e-5))  # the floor
    assert all(alpha / sigma == pytest.approx(0.5) for sigma, alpha in seen)
    es = strategy(alpha_follows_sigma=False)
    es.step = 9
    assert es.alpha == 5e-4


def skipped(es: EvolutionStrategy, attempts: list[Attempt]) -> str:
    step = es.step
    update = es.tell(attempts, {}, "min")
    assert es.step == step + 1  # the schedule goes on
    assert not any(update.weights)
    assert len(update.weights) == len(update.seeds)
    return update.skipped


@pytest.mark.parametrize("shaping", ["staged", "centred-ranks", "zscore", "paper"])
@pytest.mark.parametrize(
    ("objectives", "reason"),
    [
        ((7.0, 7.0, 7.0), "zero spread: all attempts are worth the same"),
        ((7.0, None, None), "1 of 3 attempts scored, 2 needed"),
        ((None, None, None), "0 of 3 attempts scored, 2 needed"),
    ],
)
def test_steps_without_information_are_skipped(
    shaping: str, objectives: tuple[float | None, ...], reason: str
) -> None:
    es = strategy(shaping=shaping)
    assert skipped(es, answer(es.ask(3), *objectives)) == reason


def test_staged_may_learn_from_failures_alone() -> None:
    es = strategy(min_scored=0)
    directions = es.ask(2)
    attempts = answer(directions, None, None)
    attempts[0] = replace(attempts[0], stage=Stage.PARSE)
    update = es.tell(attempts, {}, "min")
    assert update.weights == (-1.0, 1.0)


def test_the_machines_failures_are_left_out() -> None:
    es = strategy()
    directions = es.ask(4)
    attempts = answer(directions, 1.0, 2.0, None, 3.0)
    attempts[2] = replace(attempts[2], stage=Stage.INFRASTRUCTURE)
    update = es.tell(attempts, {}, "min")
    assert update.seeds == (*directions.seeds[:2], directions.seeds[3])
    assert update.weights == pytest.approx((1.2247449, 0, -1.2247449))


def test_below_quorum() -> None:
    es = strategy()
    attempts = answer(es.ask(5), 1.0, 2.0, None, None, None)
    lost = [replace(a, stage=Stage.INFRASTRUCTURE) for a in attempts[2:]]
    assert skipped(es, [*attempts[:2], *lost]) == "3 of 5 directions have no attempt: below quorum"
    es = strategy()
    assert skipped(es, answer(es.ask(5), 1.0, 2.0, None, None, None)[:2]).endswith("below quorum")


def test_no_sigma_no_step() -> None:
    es = EvolutionStrategy(ESSettings.paper(), 0, 2)
    es.step = 1
    assert es.ask(2).sigma == 0
    assert skipped(es, answer(es.ask(2), 1.0, 2.0)).startswith("sigma is 0")


def test_attempts_under_one_direction_share_it() -> None:
    es = strategy()
    one, two = es.ask(2).seeds
    update = es.tell(
        [attempt(i, 1.0 + i, direction=seed) for i, seed in enumerate((one, two, two, one))],
        {},
        "min",
    )
    assert update.skipped.startswith("zero spread")
    es.ask(2)


def test_attempts_without_a_direction_are_ignored() -> None:
    es = strategy()
    attempts = [*answer(es.ask(2), 1.0, 2.0), attempt(9, 0.5)]
    assert es.tell(attempts, {}, "min").weights == (1.0, -1.0)


def test_foreign_directions_are_refused() -> None:
    es = strategy()
    with pytest.raises(ValueError, match="tell before ask"):
        es.tell([], {}, "min")
    es.ask(2)
    with pytest.raises(ValueError, match="attempt 5 was written under direction 99, which step 0"):
        es.tell([attempt(5, 1.0, direction=99)], {}, "min")
    with pytest.raises(ValueError, match="at least one direction"):
        es.ask(0)


@pytest.mark.parametrize("between", [True, False])
def test_a_restored_strategy_has_the_same_future(between: bool) -> None:
    def go_on(es: EvolutionStrategy) -> list[Update]:
        return [es.tell(answer(es.ask(3), 3.0, 1.0, None), {}, "min") for _ in range(3)]

    es = strategy()
    go_on(es)
    directions = es.ask(3) if between else None
    state = json.loads(json.dumps(es.state()))
    other = strategy()
    other.restore(state)
    if directions:
        attempts = answer(directions, 1.0, None, 2.0)
        assert other.tell(attempts, {}, "min") == es.tell(attempts, {}, "min")
    assert go_on(other) == go_on(es)


@pytest.mark.parametrize("state", [{}, {"step": 1}, {"step": "1", "asked": 0}, {"step": -1}])
def test_another_state_is_refused(state: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="not the state of an evolution strategy"):
        strategy().restore(state)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kind": "sparse"}, "unknown kind 'sparse'; choose one of none, lowrank, full"),
        ({"schedule": "step"}, "unknown schedule 'step'; choose one of constant, linear, cosine"),
        ({"shaping": "rank"}, "unknown shaping 'rank'; choose one of staged, centred-ranks"),
        ({"sigma": 0.0}, "sigma must be finite, greater than 0; got 0"),
        ({"alpha": float("nan")}, "alpha must be finite, greater than 0; got nan"),
        ({"alpha": float("inf")}, "alpha must be finite"),
        ({"rank": 0}, "rank must be finite, at least 1; got 0"),
        ({"quorum": 1.5}, "quorum must be finite, at least 0 and at most 1; got 1.5"),
        ({"sigma_floor": 0.1}, "sigma_floor 0.1 is above sigma 0.001; lower the floor"),
    ],
)
def test_settings_are_checked(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match="^" + message):
        replace(ESSettings(), **settings)  # type: ignore[arg-type]


def test_a_strategy_needs_a_kind_and_steps() -> None:
    with pytest.raises(ValueError, match="choose lowrank or full"):
        EvolutionStrategy(ESSettings(kind="none"), 0, 5)
    with pytest.raises(ValueError, match="at least one step"):
        EvolutionStrategy(ESSettings(), 0, 0)


@pytest.mark.parametrize("kind", ["lowrank", "full"])
@pytest.mark.parametrize("shaping", ["staged", "centred-ranks", "zscore"])
def test_a_toy_model_learns(kind: str, shaping: str) -> None:
    """Weights that have to find a hidden matrix, from the distance alone."""
    shape = (6, 5)
    goal = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    weight = np.zeros(shape, np.float32)
    es = strategy(200, kind=kind, shaping=shaping, sigma=0.1, sigma_final=0.01, alpha=0.3)

    def distance(at: np.ndarray) -> float:
        return float(np.linalg.norm(at - goal))

    def written_under(directions: Directions, seed: int) -> np.ndarray:
        if kind == "full":
            return weight + directions.sigma * gaussian(seed, "w", 0, 30).reshape(shape)
        a, b = lowrank_factors(seed, "w", shape, 1)
        return weight + directions.sigma * a @ b.T

    for _ in range(200):
        directions = es.ask(16)
        found = [distance(written_under(directions, seed)) for seed in directions.seeds]
        update = es.tell(answer(directions, *found), {}, "min")
        (apply_full if kind == "full" else apply_lowrank)(weight, None, update, "w")
    assert distance(weight) < 0.1 * distance(np.zeros(shape))
