from __future__ import annotations

import json

from coevo.search.individual import Individual
from coevo.search.tried import Tried


def one(objective: float, idea: str) -> Individual:
    return Individual(1, objective, idea, "", "min")


def test_shows_the_worn_out_and_the_best() -> None:
    tried = Tried("min")
    tried.add([one(7.0, "nearest")] * 9 + [one(9.0, "farthest")] * 5)
    tried.add([one(6.0 + k / 10, f"idea {k}") for k in range(5)])
    assert len(tried) == 7
    assert tried.shown(4) == [
        (6.0, 1, "idea 0"), (6.1, 1, "idea 1"), (7.0, 9, "nearest"), (9.0, 5, "farthest")
    ]  # fmt: skip
    assert tried.shown(0) == []
    assert len(tried.shown(100)) == 7


def test_entries_without_an_idea_are_left_out_until_one_has_it() -> None:
    tried = Tried("min")
    tried.add([one(7.0, "")])
    assert tried.shown(5) == []
    tried.add([one(7.0, "nearest")])
    assert tried.shown(5) == [(7.0, 2, "nearest")]


def test_best_first_in_either_sense() -> None:
    tried = Tried("max")
    tried.add([one(1.0, "a"), one(2.0, "b")])
    assert [value for value, _, _ in tried.shown(5)] == [2.0, 1.0]


def test_state_is_json() -> None:
    tried, again = Tried("min"), Tried("min")
    tried.add([one(7.0, "nearest"), one(6.5, "")])
    again.restore(json.loads(json.dumps(tried.state())))
    assert again.state() == tried.state()
    assert again.shown(5) == tried.shown(5)
