"""Begin a reply with features already named, so that the model need only write the rule.

A small model knows well what to weigh and how; it fails at shapes and names. The lines that name
the drawn features are the problem's own, tested ones; the rule, which is the heuristic, is not.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from coevo.problems.base import Feature, Problem
from coevo.search.rule import features_of


def draw(problem: Problem, most: int, rng: np.random.Generator) -> list[Feature]:
    """One to ``most`` of the problem's features that have code, in the problem's order.

    Empty if the problem has no opening.
    """
    coded = [feature for feature in problem.features if feature.code]
    if not problem.opening or not coded:
        return []
    count = int(rng.integers(1, min(most, len(coded)) + 1))
    chosen = rng.choice(len(coded), size=count, replace=False)
    return [coded[i] for i in sorted(chosen)]


def mix(problem: Problem, codes: Sequence[str], rng: np.random.Generator) -> list[Feature]:
    """All features that any of the programs names, at most five of them, in the problem's order;
    empty if they name none. All, since the model reads the programs and uses what they use.
    """
    named = [features_of(problem, code) for code in codes]
    union = [feature for feature in problem.features if any(feature in one for one in named)]
    if not problem.opening or not union:
        return []
    chosen = rng.choice(len(union), size=min(5, len(union)), replace=False)
    return [union[i] for i in sorted(chosen)]


def begin(problem: Problem, features: Sequence[Feature], idea: str, rule: bool) -> str:
    """The start of a body: the opening, the features' lines, the idea; with ``rule`` its start too.

    Without ``rule`` the model goes on with the idea.
    """
    indent = problem.rule[: len(problem.rule) - len(problem.rule.lstrip())]
    lines = problem.opening + "".join(f"{indent}{feature.code}\n" for feature in features)
    if rule and idea:
        return f"{lines}{indent}# Idea:{idea}.\n{problem.rule}"
    return f"{lines}{indent}# Idea:{idea}"


def in_words(features: Sequence[Feature]) -> str:
    """``a``, ``a and b``, ``a; b; and c``; empty for none."""
    words = [feature.words for feature in features]
    if len(words) > 2:
        words = ["; ".join(words[:-1]) + ";", words[-1]]
    return " and ".join(words)
