from __future__ import annotations

import pytest

from coevo.problems.base import Problem
from coevo.search.eoh import EoH
from coevo.search.registry import METHODS, make


@pytest.mark.parametrize("name", METHODS)
def test_every_method_asks_and_is_restored(problem: Problem, name: str) -> None:
    search = make(name, problem, 0)
    assert search.ask(3)
    make(name, problem, 0).restore(search.state())


def test_settings_come_as_toml_has_them(problem: Problem) -> None:
    search = make("eoh", problem, 0, operators=["m1"], population=4, wording="plain")
    assert isinstance(search, EoH)
    assert search.settings.operators == ("m1",)
    assert search.settings.population == 4


def test_errors_name_the_choices(problem: Problem) -> None:
    with pytest.raises(ValueError, match="eoh, sampling"):
        make("tabu", problem, 0)
    with pytest.raises(ValueError, match="it has: population"):
        make("eoh", problem, 0, popsize=3)
    with pytest.raises(ValueError, match="no wording is called 'loud'"):
        make("eoh", problem, 0, wording="loud")
