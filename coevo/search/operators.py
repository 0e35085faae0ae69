"""EoH's five operators: each turns parents into a prompt.

i1 makes a heuristic from nothing; e1 one unlike its parents; e2 one on their common idea; m1
changes its parent's rule and m2 its parameters. What all prompts of a run share comes first, then
what a generation shares, then what is the proposal's own: a shared prefix is read only once.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from types import MappingProxyType

import numpy as np

from coevo.attempt import Prompt, Proposal
from coevo.problems.base import Feature, Problem
from coevo.search.individual import Individual
from coevo.search.opening import begin, draw, in_words, mix
from coevo.search.regrowth import condensed, first_statements, up_to_changed_number
from coevo.search.rule import new_idea, new_parameter, split
from coevo.search.tried import Tried
from coevo.search.wording import (
    EDIT,
    EDITS,
    FORMAT_BEGUN,
    FORMAT_WHOLE,
    INGREDIENT,
    INSTRUCTIONS,
    SYSTEM,
    Wording,
)

OPENED = ("i1", "e1", "e2")  # operators whose reply may begin by naming features
PARENTS = MappingProxyType({"i1": 0, "e1": 2, "e2": 2, "m1": 1, "m2": 1})  # that each one takes


def propose(
    operator: str,
    problem: Problem,
    parents: Sequence[Individual],
    tried: Tried,
    wording: Wording,
    rng: np.random.Generator,
    continues: bool = True,
) -> Proposal:
    """A finished proposal. ``continues``: the reply may be begun for the model."""
    named: list[Feature] = []  # features that the reply begins with
    edit = feature = ""
    if continues and operator in OPENED and rng.random() < wording.opening:
        if operator == "e2" and rng.random() < wording.inherit:
            named = mix(problem, [parent.code for parent in parents], rng)
        named = named or draw(problem, wording.mixed, rng)
    if named:
        feature = in_words(named)
    elif operator in EDITS and rng.random() < wording.edit:
        edit = str(rng.choice(EDITS[operator]))
    elif operator in wording.ingredient_for and rng.random() < wording.ingredient:
        feature = problem.features[int(rng.integers(len(problem.features)))].words
    prompt = Prompt(
        system=SYSTEM,
        user=_user(operator, problem, parents, tried, wording, feature, edit, continues),
        begun=_begun(operator, problem, parents, wording, named, feature, edit, rng)
        if continues
        else "",
        function=problem.function,
    )
    return Proposal(operator, tuple(parent.number for parent in parents), prompt)


def signature(template: str) -> str:
    """The lines of the template up to its docstring: ``def …:``, without a newline at the end."""
    function = ast.parse(template).body[0]
    assert isinstance(function, ast.FunctionDef)
    return "\n".join(template.split("\n")[: function.body[0].lineno - 1])


def _user(
    operator: str,
    problem: Problem,
    parents: Sequence[Individual],
    tried: Tried,
    wording: Wording,
    feature: str,
    edit: str,
    continues: bool,
) -> str:
    goal = "lower is better" if problem.sense == "min" else "higher is better"
    parts = [
        problem.task,
        f"Complete this Python function:\n\n```python\n{problem.template.rstrip()}\n```",
    ]
    if shown := tried.shown(wording.tried):
        entries = "\n".join(f"- {value:g}: {idea}" for value, _, idea in shown)
        parts.append(f"Already tried, do not repeat (objective, {goal}):\n{entries}")
    distinct = list(dict.fromkeys(parents))  # the same parent may have been drawn twice
    for number, parent in enumerate(distinct, 1):
        name = "Heuristic" if len(distinct) == 1 else f"Heuristic {number}"
        about = f"{name} (objective {parent.objective:g}, {goal}): {parent.idea}".rstrip(": ")
        if operator in wording.code_for:
            rule = split(problem, parent.code)[1].strip() if wording.rule_only else ""
            code = rule or condensed(parent.code, problem.function)
            about += f"\n```python\n{code}\n```"
        parts.append(about)
    task = [INSTRUCTIONS[operator]]
    if feature:
        task.append(INGREDIENT.format(feature=feature))
    if edit:
        task.append(EDIT.format(edit=edit))
    task.append((FORMAT_BEGUN if continues else FORMAT_WHOLE).format(lines=wording.lines))
    parts.append(" ".join(task))
    return "\n\n".join(parts)


def _begun(
    operator: str,
    problem: Problem,
    parents: Sequence[Individual],
    wording: Wording,
    named: Sequence[Feature],
    feature: str,
    edit: str,
    rng: np.random.Generator,
) -> str:
    """The start of the reply: fence, import, signature, idea; by the wording's shares also lines
    that name features before the idea, or the parent's lines after it.
    """
    head = f"```python\nimport numpy as np\n\n\n{signature(problem.template)}\n"
    idea = wording.idea.format(feature=feature) if feature else ""
    if operator == "m1" and rng.random() < wording.regrow:
        code = parents[0].code
        added = next((f for f in problem.features if f.words == feature), None)
        body = new_idea(problem, code, added, rng) or first_statements(code, problem.function, rng)
        if body:
            return f"{head}    # Idea: {_changed(parents[0].idea, edit or feature)}\n{body}"
    elif operator == "m2" and rng.random() < wording.parameter:
        code = parents[0].code
        body = new_parameter(problem, code, rng)
        body = body or up_to_changed_number(code, problem.function, rng)
        if body:
            return f"{head}    # Idea: {_changed(parents[0].idea, 'other parameters')}\n{body}"
    elif named:
        return head + begin(problem, named, idea, wording.rule)
    return f"{head}    # Idea:{idea}"


def _changed(idea: str, change: str) -> str:
    """The parent's idea with what is new in this child; earlier changes are forgotten."""
    first = idea.split("; now ")[0].rstrip(". ") or "the rule above"
    return f"{first}; now {change or 'changed'}."
