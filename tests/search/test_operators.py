from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from coevo.attempt import Proposal
from coevo.problems.base import Problem
from coevo.search.individual import Individual
from coevo.search.opening import begin
from coevo.search.operators import PARENTS, propose, signature
from coevo.search.tried import Tried
from coevo.search.wording import PRESETS, Wording
from coevo.streams import stream

FORTY = """import numpy as np


def select_next_node(current_node: int, destination_node, unvisited_nodes, distance_matrix):
    # Idea: go out first
    d = distance_matrix[current_node, unvisited_nodes]
    score = d - 0.4 * distance_matrix[destination_node, unvisited_nodes]
    return unvisited_nodes[np.argmin(score)]
"""
ONE = Individual(3, 6.9, "go out first", FORTY, "min")
TWO = Individual(5, 6.95, "nearest", FORTY.replace("0.4", "0.0"), "min")


def proposal(
    problem: Problem, operator: str, wording: Wording, continues: bool = True, seed: int = 0
) -> Proposal:
    tried = Tried("min")
    tried.add([ONE, TWO, TWO])
    parents: Sequence[Individual] = [ONE, TWO][: PARENTS[operator]]
    return propose(operator, problem, parents, tried, wording, stream(seed, operator), continues)


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("operator", PARENTS)
def test_every_prompt_asks_for_the_function(problem: Problem, operator: str, name: str) -> None:
    prompt = proposal(problem, operator, PRESETS[name]).prompt
    assert problem.task in prompt.user
    assert problem.template.strip() in prompt.user
    assert prompt.function == problem.function
    assert prompt.begun.startswith("```python\nimport numpy as np\n\n\ndef select_next_node(")
    assert "    # Idea:" in prompt.begun
    assert len(prompt.user) < 5000
    whole = proposal(problem, operator, PRESETS[name], continues=False).prompt
    assert whole.begun == ""
    assert "one Python code block" in whole.user


@pytest.mark.parametrize("operator", ["e1", "e2", "m1", "m2"])
def test_parents_are_shown(problem: Problem, operator: str) -> None:
    got = proposal(problem, operator, Wording())
    shown = [ONE, TWO][: PARENTS[operator]]
    assert got.parents == tuple(one.number for one in shown)
    for one in shown:
        assert f"objective {one.objective:g}" in got.prompt.user
        assert one.idea in got.prompt.user
    assert "0.4 * distance_matrix" in got.prompt.user
    assert "# Idea" not in got.prompt.user.split("Heuristic")[1]  # the code without its comments


def test_a_parent_drawn_twice_is_shown_once(problem: Problem) -> None:
    got = propose("e2", problem, [ONE, ONE], Tried("min"), Wording(), stream(0))
    assert got.parents == (3, 3)
    assert got.prompt.user.count("0.4 *") == 1


def test_prompts_share_their_beginning(problem: Problem) -> None:
    wording = PRESETS["full"]
    prompts = [proposal(problem, o, wording, seed=s).prompt for o in PARENTS for s in range(5)]
    assert len({p.system for p in prompts}) == 1
    first, last = min(p.user for p in prompts), max(p.user for p in prompts)
    shared = first[: next(i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b)]
    assert problem.template.strip() in shared
    assert "Already tried" in shared
    assert "nearest" in shared


def test_ingredients_vary(problem: Problem) -> None:
    wording = Wording(ingredient=1.0, idea=" weigh {feature} and")
    prompts = [proposal(problem, "i1", wording, seed=s).prompt for s in range(40)]
    drawn = {f.words for f in problem.features for p in prompts if f.words in p.user}
    assert len(drawn) > 8
    for prompt in prompts:
        feature = next(f.words for f in problem.features if f.words in prompt.user)
        assert prompt.begun.endswith(f"# Idea: weigh {feature} and")
    none = proposal(problem, "m2", wording).prompt
    assert none.begun.endswith("# Idea:")


def test_code_can_be_kept_from_an_operator(problem: Problem) -> None:
    got = proposal(problem, "e1", Wording(code_for=("e2", "m1", "m2")))
    assert "0.4 *" not in got.prompt.user
    assert ONE.idea in got.prompt.user


def test_m1_goes_on_from_its_parents_first_statements(problem: Problem) -> None:
    wording = Wording(regrow=1.0, edit=1.0)
    ends = {proposal(problem, "m1", wording, seed=s).prompt.begun for s in range(20)}
    assert {end.count("\n") for end in ends} == {7, 8}  # one statement, or two: never the return
    for end in ends:
        assert "# Idea: go out first; now " in end
        ast.parse(end.removeprefix("```python\n"))


@pytest.mark.parametrize("operator", ["i1", "e1", "e2"])
def test_a_new_one_begins_by_naming_features(problem: Problem, operator: str) -> None:
    wording = Wording(opening=1.0, ingredient=1.0, idea=" weigh {feature}", mixed=3)
    prompts = [proposal(problem, operator, wording, seed=s).prompt for s in range(40)]
    assert len({p.begun for p in prompts}) > 25
    for prompt in prompts:
        assert problem.opening in prompt.begun
        named = [f for f in problem.features if f.code and f.code in prompt.begun]
        assert 1 <= len(named) <= 3
        assert all(f.words in prompt.begun and f.words in prompt.user for f in named)
        assert "# Idea: weigh " in prompt.begun
    ruled = proposal(problem, operator, replace(wording, rule=True)).prompt.begun
    assert ruled.endswith(".\n" + problem.rule)
    assert "named" not in proposal(problem, "m1", wording).prompt.begun


def test_every_feature_can_be_computed(problem: Problem) -> None:
    """Each line as it is, at every step of a tour, gives a number or one number per node."""
    for feature in (f for f in problem.features if f.code):
        name = feature.code.split("=")[0].strip()
        code = f"{signature(problem.template)}\n"
        code += begin(problem, [feature], " weigh it", rule=True) + f" + {name}\n"
        code += "        if cost < lowest_cost:\n            best_node, lowest_cost = node, cost\n"
        code += "    return best_node\n"
        namespace: dict = {"np": np}
        exec(code, namespace)
        instances = problem.instances("val", 12, count=2)
        arrays = problem.rollout(namespace[problem.function], instances)
        assert np.isfinite(problem.score(instances, arrays))


def test_m2_goes_on_from_a_changed_number(problem: Problem) -> None:
    begun = [
        proposal(problem, "m2", Wording(parameter=1.0), seed=s).prompt.begun for s in range(20)
    ]
    numbers = {text.rsplit("score = d - ", 1)[1] for text in begun}
    assert len(numbers) > 10
    assert all(0.04 < float(number) < 4 for number in numbers)
    ast.parse(begun[0].removeprefix("```python\n"))


@pytest.mark.parametrize("code", ["", "not python (", "def other(a):\n    return 0.5 * a\n"])
def test_regrowth_needs_the_function(problem: Problem, code: str) -> None:
    odd = Individual(1, 7.0, "", code, "min")
    for operator in ("m1", "m2"):
        wording = Wording(regrow=1.0, parameter=1.0)
        got = propose(operator, problem, [odd], Tried("min"), wording, stream(0))
        assert got.prompt.begun.endswith("# Idea:")


def test_the_signature_may_span_lines() -> None:
    template = 'def f(\n    a: int,\n    b: int,\n) -> int:\n    """Add."""\n'
    assert signature(template) == "def f(\n    a: int,\n    b: int,\n) -> int:"


@pytest.mark.parametrize(
    "deep",
    ["near" + " + 1.5" * 700, "-" * 700 + "near", "near" + ".T" * 700, "[" * 150 + "]" * 150],
)
@pytest.mark.parametrize("operator", ["e1", "e2", "m1", "m2"])
def test_parents_too_deep_to_be_written_out_again(
    problem: Problem, operator: str, deep: str
) -> None:
    code = f"{signature(problem.template)}\n    cost = {deep}\n    return unvisited_nodes[0]\n"
    parent = Individual(1, 7.0, "deep", code, "min")
    for seed in range(5):
        rng = stream(seed, "test")
        parents = [parent] * PARENTS[operator]
        got = propose(operator, problem, parents, Tried("min"), PRESETS["opening-rule"], rng)
        assert got.prompt.begun.startswith("```python\n")
