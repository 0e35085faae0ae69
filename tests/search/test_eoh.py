from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import replace

import pytest

from coevo.attempt import Attempt, Stage
from coevo.problems.base import Problem
from coevo.search.eoh import EoH, EoHSettings
from tests.search.standin import evaluated, run


class Maximise:
    """The same problem with the other sense."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self.sense = "max"

    def __getattr__(self, name: str) -> object:
        return getattr(self._problem, name)


def test_initialisation_is_i1_inside_the_budget(problem: Problem) -> None:
    search = EoH(problem, seed=0)
    proposals = search.ask(1000)
    assert [p.operator for p in proposals] == ["i1"] * 20
    assert all(p.parents == () for p in proposals)


def test_a_generation_is_ten_of_each_operator_with_parents_of_its_start(problem: Problem) -> None:
    search = EoH(problem, seed=0)
    run(search, 20)
    numbers = {one.number for one in search.population}
    proposals = search.ask(1000)
    assert [p.operator for p in proposals] == [
        o for o in ("e1", "e2", "m1", "m2") for _ in range(10)
    ]
    assert {p.operator: len(p.parents) for p in proposals} == {"e1": 2, "e2": 2, "m1": 1, "m2": 1}
    assert all(parent in numbers for p in proposals for parent in p.parents)


def test_paper_goes_operator_by_operator(problem: Problem) -> None:
    search = EoH(problem, seed=0, settings=EoHSettings(paper=True))
    run(search, 20)
    order = []
    for start in range(20, 120, 10):
        proposals = search.ask(1000)
        order.append({p.operator for p in proposals})
        assert len(proposals) == 10
        search.tell(evaluated(proposals, start))
    assert order == [{o} for o in ("e1", "e2", "m1", "m2", "e1", "e2", "m1", "m2", "e1", "e2")]


def test_paper_manages_the_population_after_each_operator(problem: Problem) -> None:
    search = EoH(problem, seed=0, settings=EoHSettings(paper=True))
    run(search, 20)
    proposals = search.ask(1000)
    best = replace(evaluated(proposals, 20, valid=1.0)[0], objective=1.0)
    search.tell([best])
    assert search.population[0].number == best.number
    assert any(best.number in p.parents for _ in range(4) for p in search.ask(10))


def test_twenty_five_published_generations_are_a_thousand_attempts(problem: Problem) -> None:
    search = EoH(problem, seed=0)
    attempts = run(search, 1020)
    assert Counter(a.operator for a in attempts) == {
        "i1": 20,
        "e1": 250,
        "e2": 250,
        "m1": 250,
        "m2": 250,
    }
    assert search.turn == 25


@pytest.mark.parametrize("paper", [False, True])
def test_same_seed_same_trajectory(problem: Problem, paper: bool) -> None:
    one, two, other = (
        run(EoH(problem, seed=seed, settings=EoHSettings(paper=paper)), 200) for seed in (1, 1, 2)
    )
    assert one == two
    assert [a.proposal for a in one] != [a.proposal for a in other]


def test_ask_changes_nothing(problem: Problem) -> None:
    search = EoH(problem, seed=0)
    run(search, 60)
    assert search.ask(40) == search.ask(40)
    assert search.ask(1000)[:1] == search.ask(1000)[:1]


@pytest.mark.parametrize("paper", [False, True])
@pytest.mark.parametrize("at", [0, 13, 20, 60, 90])
def test_restore_gives_the_same_future(problem: Problem, paper: bool, at: int) -> None:
    settings = EoHSettings(paper=paper, wording="full")
    search = EoH(problem, seed=3, settings=settings)
    run(search, at)
    resumed = EoH(problem, seed=3, settings=settings)
    resumed.restore(json.loads(json.dumps(search.state())))
    assert resumed.state() == search.state()
    assert run(resumed, 200, start=at) == run(search, 200, start=at)
    assert resumed.state() == search.state()
    assert [one.objective for one in resumed.record.incumbents] == [
        one.objective for one in search.record.incumbents
    ]


@pytest.mark.parametrize("budget", [1, 2, 3, 7, 21, 25, 45])
def test_budgets_are_never_exceeded(problem: Problem, budget: int) -> None:
    search = EoH(problem, seed=0)
    spent = 0
    while spent < budget:
        proposals = search.ask(budget - spent)
        assert 1 <= len(proposals) <= budget - spent
        search.tell(evaluated(proposals, spent))
        spent += len(proposals)
    assert spent == budget
    with pytest.raises(ValueError, match="nothing left"):
        search.ask(0)


def test_a_budget_of_one_at_a_time_still_breeds(problem: Problem) -> None:
    search = EoH(problem, seed=0)
    for number in range(80):
        search.tell(evaluated(search.ask(1), number))
    assert len(search.population) == 10


def test_a_cut_generation_keeps_all_operators(problem: Problem) -> None:
    search = EoH(problem, seed=0)
    run(search, 20)
    assert [p.operator for p in search.ask(6)] == ["e1", "e1", "e2", "e2", "m1", "m2"]


def test_i1_goes_on_until_two_individuals_exist(problem: Problem) -> None:
    search = EoH(problem, seed=0)
    run(search, 20, valid=0.0)
    for start in (20, 30):
        proposals = search.ask(1000)
        assert [p.operator for p in proposals] == ["i1"] * 10
        search.tell(evaluated(proposals, start, valid=0.0))
    attempts = evaluated(search.ask(1000), 40, valid=0.0)
    scored = [replace(a, stage=Stage.SCORED, objective=7.0, code="pass") for a in attempts]
    search.tell(scored[:2])  # two copies of one objective are one individual
    assert {p.operator for p in search.ask(1000)} == {"i1"}
    search.tell([replace(scored[2], objective=6.9)])
    assert "i1" not in {p.operator for p in search.ask(1000)}


def test_an_all_invalid_generation_changes_no_individual(problem: Problem) -> None:
    search = EoH(problem, seed=0)
    run(search, 60)
    before = list(search.population)
    proposals = search.ask(1000)
    search.tell(evaluated(proposals, 60, valid=0.0))
    assert search.population == before
    assert search.ask(1000) != proposals  # but asks anew


def told(search: EoH, objectives: list[float | None]) -> None:
    attempts: list[Attempt] = []
    for proposal in (search.ask(1)[0] for _ in objectives):
        number = search.record.told + len(attempts) + 1
        value = objectives[len(attempts)]
        attempts.append(
            Attempt(number, 0, proposal, idea=f"idea {number}", stage=Stage.SCORED, objective=value)
        )
    search.tell(attempts)


def test_only_finite_objectives_enter(problem: Problem) -> None:
    search = EoH(problem, seed=0)
    told(search, [math.nan, 6.8, math.inf, -math.inf, None, 6.7])
    assert [one.objective for one in search.population] == [6.7, 6.8]
    assert search.best is not None
    assert search.best.objective == 6.7
    json.dumps(search.state(), allow_nan=False)


def test_one_individual_per_objective_and_the_first_wins(problem: Problem) -> None:
    search = EoH(problem, seed=0)
    told(search, [7.0, 6.8, 6.8000001, 6.80001, 7.0])
    assert [(one.objective, one.number) for one in search.population] == [
        (6.8, 2), (6.80001, 4), (7.0, 1)
    ]  # fmt: skip
    told(search, [6.8])
    assert search.population[0].number == 2


def test_the_best_survive_in_either_sense(problem: Problem) -> None:
    values = [float(v) for v in range(30)]
    smaller, larger = EoH(problem, seed=0), EoH(Maximise(problem), seed=0)  # type: ignore[arg-type]
    told(smaller, list(values))
    told(larger, list(values))
    assert [one.objective for one in smaller.population] == values[:10]
    assert [one.objective for one in larger.population] == values[:-11:-1]
    assert larger.best is not None
    assert larger.best.objective == 29
    assert larger.record.logbook[0]["best"] == 29
    assert "higher is better" in larger.ask(40)[0].prompt.user


def test_the_logbook_has_a_line_per_batch(problem: Problem) -> None:
    search = EoH(problem, seed=0)
    told(search, [7.0, 6.8, 6.9])
    search.tell([])
    assert search.record.logbook[0] == {
        "batch": 0, "attempts": 3, "scored": 3, "distinct": 3,
        "best": 6.8, "median": 6.9, "worst": 7.0,
    }  # fmt: skip
    assert search.record.logbook[1] == {"batch": 1, "attempts": 0, "scored": 0, "distinct": 3}
    assert "6.8" in str(search.record.logbook)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"operators": ("e1", "x9")}, "x9"),
        ({"operators": ()}, "choose from"),
        ({"population": 0}, "population must be a whole number, at least 1"),
        ({"offspring": 0}, "offspring must be a whole number, at least 1"),
    ],
)
def test_wrong_settings_say_what_is_right(settings: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        EoHSettings(**settings)
