from __future__ import annotations

import json

import pytest

from coevo.problems.base import Problem
from coevo.search.sampling import Sampling, SamplingSettings
from tests.search.standin import run


def test_batches_of_twenty_i1(problem: Problem) -> None:
    search = Sampling(problem, seed=0)
    assert [(p.operator, p.parents) for p in search.ask(1000)] == [("i1", ())] * 20
    assert len(search.ask(7)) == 7
    with pytest.raises(ValueError, match="nothing left"):
        search.ask(0)


def test_proposals_do_not_depend_on_what_was_told(problem: Problem) -> None:
    settings = SamplingSettings(wording="full")  # shows what was tried, where that is allowed
    good = run(Sampling(problem, seed=0, settings=settings), 60, valid=1.0)
    bad = run(Sampling(problem, seed=0, settings=settings), 60, valid=0.0)
    assert [a.proposal for a in good] == [a.proposal for a in bad]


def test_restore_gives_the_same_future(problem: Problem) -> None:
    search = Sampling(problem, seed=0)
    run(search, 30)
    resumed = Sampling(problem, seed=0)
    resumed.restore(json.loads(json.dumps(search.state())))
    assert run(resumed, 70, start=30) == run(search, 70, start=30)
    assert resumed.best == search.best


def test_wrong_settings_say_what_is_right() -> None:
    with pytest.raises(ValueError, match="batch must be a whole number, at least 1"):
        SamplingSettings(batch=0)
