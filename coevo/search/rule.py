"""Begin a reply with the parent up to its rule, changed there, so that the model can only go on.

The rule is the line that a problem's ``rule`` starts, ``cost = near + 0.3 * back``. What stands
before it names features; a new one may be added. The rule itself is kept up to a point: for a
mutation of the idea up to some operator, for one of the parameters up to a changed number or a new
weight.
"""

from __future__ import annotations

import io
import math
import tokenize

import numpy as np

from coevo.problems.base import Feature, Problem
from coevo.search.regrowth import body_lines

SPREAD = 0.7  # standard deviation of the logarithm of a changed number


def new_idea(problem: Problem, code: str, added: Feature | None, rng: np.random.Generator) -> str:
    """The parent's lines before its rule, a line for ``added``, and the rule up to one of its
    operators, drawn at random, or only its start. Empty if the parent has no such rule.
    """
    before, rule = split(problem, code)
    if not rule:
        return ""
    if added is not None and added.code and added.code.strip() not in map(str.strip, before):
        before = [*before, _indent(rule) + added.code]
    starts = [start for start, _ in _operators(rule)]
    cut = int(rng.choice([_bare(problem, rule), *starts]))
    return "\n".join([*before, rule[:cut].rstrip()])


def new_parameter(problem: Problem, code: str, rng: np.random.Generator) -> str:
    """The parent's lines up to one of its rule's operators, drawn at random, and after it a weight:
    the one that is there times a log-normal factor, or a new one. Empty if there is no such rule.
    """
    before, rule = split(problem, code)
    if not rule:
        return ""
    factor = math.exp(SPREAD * rng.standard_normal())
    operators = [(s, e) for s, e in _operators(rule) if rule[s:e] in "+-"]
    if not operators:
        sign = "-" if rng.random() < 0.5 else "+"
        return "\n".join([*before, f"{rule[: _bare(problem, rule)]} {sign} {0.5 * factor:.2g} *"])
    end = operators[int(rng.integers(len(operators)))][1]
    weight = _number(rule[end:].lstrip()) or 1.0
    return "\n".join([*before, f"{rule[:end]} {weight * factor:.2g} *"])


def features_of(problem: Problem, code: str) -> list[Feature]:
    """The problem's features that the program names as the problem does."""
    lines = {line.strip() for line in body_lines(code, problem.function)}
    return [feature for feature in problem.features if feature.code and feature.code in lines]


def split(problem: Problem, code: str) -> tuple[list[str], str]:
    """The lines of the function's body before its rule, and the rule. Both empty if there is none.

    A rule is an assignment to what the problem's ``rule`` assigns to, on one line.
    """
    target = problem.rule.partition("=")[0].strip()
    lines = body_lines(code, problem.function)
    if target:
        for row, line in enumerate(lines):
            name, equals, value = line.partition("=")
            if name.strip() == target and equals and value.strip() and value[0] != "=":
                return lines[:row], line
    return [], ""


def _bare(problem: Problem, rule: str) -> int:
    """Length of the rule's least start: the problem's own, if the rule has it, else up to ``=``."""
    given = _indent(rule) + problem.rule.strip()
    follows = rule[len(given) : len(given) + 1]
    if rule.startswith(given) and (not follows or follows in " +-*/"):
        return len(given)
    return rule.index("=") + 1


def _operators(rule: str) -> list[tuple[int, int]]:
    """Where the binary operators outside brackets are: (start, end) in the line."""
    found: list[tuple[int, int]] = []
    depth, operand = 0, False
    try:
        for token in tokenize.generate_tokens(io.StringIO(rule.strip() + "\n").readline):
            if token.string in ("(", "[", "{"):
                depth += 1
            elif token.string in (")", "]", "}"):
                depth -= 1
            if operand and depth == 0 and token.string in ("+", "-", "*", "/"):
                offset = len(_indent(rule))
                found.append((token.start[1] + offset, token.end[1] + offset))
            operand = token.type in (tokenize.NAME, tokenize.NUMBER) or token.string in (")", "]")
    except (tokenize.TokenError, SyntaxError):
        return []
    return found


def _number(text: str) -> float | None:
    """The number that the text starts with, if a ``*`` follows; else None."""
    head, star, _ = text.partition("*")
    try:
        value = float(head)
    except ValueError:
        return None
    return value if star and 1e-6 < abs(value) < 1e6 else None


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]
