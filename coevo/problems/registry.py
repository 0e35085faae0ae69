"""Problems by name. A new one is one file beside this and one line below."""

from __future__ import annotations

import difflib
from importlib import import_module

from coevo.error import UsageError
from coevo.problems.base import Problem

PROBLEMS = {
    "tsp": "coevo.problems.tsp:TSP",
}


class UnknownProblem(UsageError):
    """There is no problem of that name; the message lists those there are."""


def load(name: str) -> Problem:
    """The problem of that name. Raises `UnknownProblem`."""
    if name not in PROBLEMS:
        close = difflib.get_close_matches(name, PROBLEMS, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"choose one of: {', '.join(PROBLEMS)}"
        raise UnknownProblem(f"no problem is called {name!r}; {hint}")
    module, _, attribute = PROBLEMS[name].partition(":")
    problem: Problem = getattr(import_module(module), attribute)()
    return problem
