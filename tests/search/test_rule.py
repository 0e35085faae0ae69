from __future__ import annotations

import ast
from dataclasses import replace

import numpy as np
import pytest

from coevo.problems.base import Problem
from coevo.search.individual import Individual
from coevo.search.opening import mix
from coevo.search.operators import propose
from coevo.search.rule import features_of, new_idea, new_parameter, split
from coevo.search.tried import Tried
from coevo.search.wording import PRESETS

HEAD = """import numpy as np
def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    best_node, lowest_cost = (unvisited_nodes[0], np.inf)
    for node in unvisited_nodes:
        near = distance_matrix[current_node, node]
        back = distance_matrix[destination_node, node]
"""
TAIL = """
        if cost < lowest_cost:
            best_node, lowest_cost = (node, cost)
    return best_node
"""
RULE = "        cost = near - 0.4 * back + np.sqrt(near + back)"
CODE = HEAD + RULE + TAIL


def several(make) -> set[str]:
    return {make(np.random.default_rng(seed)).split("\n")[-1] for seed in range(60)}


def test_the_rule_is_found(problem: Problem) -> None:
    before, rule = split(problem, CODE)
    assert rule == RULE
    assert before == HEAD.rstrip().split("\n")[2:]


@pytest.mark.parametrize(
    "code",
    ["", "def (", "x = 1", HEAD + "        return node\n", HEAD + "        cost == near\n"],
)
def test_programs_without_a_rule(problem: Problem, code: str) -> None:
    assert split(problem, code) == ([], "")
    assert new_idea(problem, code, None, np.random.default_rng(0)) == ""
    assert new_parameter(problem, code, np.random.default_rng(0)) == ""


def test_a_new_idea_keeps_the_rule_up_to_an_operator_outside_brackets(problem: Problem) -> None:
    starts = several(lambda rng: new_idea(problem, CODE, None, rng))
    assert starts == {
        "        cost = near",
        "        cost = near - 0.4",
        "        cost = near - 0.4 * back",
    }


def test_a_new_idea_may_name_one_feature_more(problem: Problem) -> None:
    added = next(f for f in problem.features if f.code.startswith("mean"))
    text = new_idea(problem, CODE, added, np.random.default_rng(0))
    assert f"\n        {added.code}\n        cost =" in text
    named = next(f for f in problem.features if f.code.startswith("back"))
    text = new_idea(problem, CODE, named, np.random.default_rng(0))
    assert text.count(named.code) == 1


def test_a_new_parameter_is_a_changed_or_a_new_weight(problem: Problem) -> None:
    starts = several(lambda rng: new_parameter(problem, CODE, rng))
    changed = [s for s in starts if s.startswith("        cost = near - 0.4 * back + ")]
    assert changed
    assert len(starts) > 40
    for start in starts:
        assert start.endswith(" *")
        ast.parse(start.strip() + " back")
    bare = several(lambda rng: new_parameter(problem, HEAD + "        cost = near" + TAIL, rng))
    assert {s[: len("        cost = near +")][-1] for s in bare} == {"+", "-"}


def test_crossover_mixes_the_parents_features(problem: Problem) -> None:
    other = CODE.replace("back = distance_matrix[destination_node, node]", "x = 1")
    other = other.replace("near - 0.4", "near")
    centre = next(f for f in problem.features if f.code.startswith("centre"))
    other = other.replace("x = 1", centre.code)
    assert [f.code[:4] for f in features_of(problem, CODE)] == ["back"]
    mixed = mix(problem, [CODE, other], np.random.default_rng(0))
    assert [feature.code.split()[0] for feature in mixed] == ["back", "centre"]
    assert mix(problem, ["def (", ""], np.random.default_rng(0)) == []


def test_a_parent_can_be_shown_by_its_rule_alone(problem: Problem) -> None:
    parent = Individual(1, 6.9, "weigh the way back", CODE, "min")
    wording = replace(PRESETS["opening-brief"], inherit=1.0)
    rng = np.random.default_rng(0)
    got = propose("e2", problem, [parent, parent], Tried("min"), wording, rng)
    assert f"```python\n{RULE.strip()}\n```" in got.prompt.user
    assert "best_node" not in got.prompt.user
    other = replace(parent, code=CODE.replace("cost", "score"))
    got = propose("m1", problem, [other], Tried("min"), wording, rng)
    assert "lowest_score" in got.prompt.user  # no rule: the whole code
