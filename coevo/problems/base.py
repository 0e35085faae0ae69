"""The contract between coevo and an optimisation problem.

A problem is split in two by the wall round untrusted code. ``rollout`` runs *inside* the sandbox,
beside the candidate, and returns plain arrays (tours, pick orders, matrices). ``score`` runs
*outside*, trusts none of them, and is the only place where an objective comes from: a candidate
can return a wrong tour but never a score.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np

Sense = Literal["min", "max"]
Split = Literal["train", "val", "test"]
Arrays = Mapping[str, np.ndarray]
Heuristic = Callable[..., Any]


class BadOutput(Exception):
    """The candidate's function returned a value of the wrong type or shape (stage ``output``)."""


class Infeasible(Exception):
    """The value has the right type but is no solution of the instance (stage ``infeasible``)."""


class NonFinite(Exception):
    """NaN or infinity where a number was due (stage ``nonfinite``)."""


@dataclass(frozen=True)
class Instances:
    """A set of problem instances as named plain arrays; axis 0 of each is the instance."""

    problem: str
    split: Split
    n: int  # size of one instance, in the problem's own unit (nodes, items)
    seed: int
    arrays: Arrays = field(repr=False)

    def __len__(self) -> int:
        return len(next(iter(self.arrays.values())))


@dataclass(frozen=True)
class ArraySpec:
    """dtype (a NumPy name of a plain number type) and exact shape of an array from the sandbox."""

    dtype: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Feature:
    """Something that a heuristic may weigh: in words, for a prompt, and as code, so that a reply
    can be begun with it. ``code`` is a statement that gives the quantity a name; empty if
    one statement can't.
    """

    words: str
    code: str = ""


class Problem(Protocol):
    """An optimisation problem. One file, one class, one line in ``registry.py``."""

    name: str
    sense: Sense
    default_n: int
    function: str  # name of the function that the model writes
    arguments: tuple[str, ...]  # its arguments, in order
    template: str  # that function, typed, with its docstring and no body
    task: str  # what is asked, in words, for the prompt
    features: tuple[Feature, ...]  # what a heuristic may weigh
    opening: str  # first lines of a body that weighs features: what any rule needs; may be empty
    rule: str  # the rule after the features starts, indented as they are: ``    cost =``
    baselines: Mapping[str, str]  # name -> source of a complete, well-known heuristic

    def instances(
        self, split: Split, n: int, seed: int = ..., count: int | None = None
    ) -> Instances:
        """Make instances from the seed; ``count`` None means the problem's usual number."""
        ...

    def outputs(self, instances: Instances) -> Mapping[str, ArraySpec]:
        """The arrays that ``rollout`` returns for these instances."""
        ...

    def rollout(self, heuristic: Heuristic, instances: Instances) -> Arrays:
        """Run the candidate on every instance. Inside the sandbox; imports no torch.

        Raises `BadOutput` or `Infeasible` as soon as the candidate's answer is wrong; the
        candidate's own exceptions pass through.
        """
        ...

    def score(self, instances: Instances, arrays: Arrays) -> float:
        """The objective, in the problem's sense. Outside the sandbox; trusts nothing.

        Raises `Infeasible` or `NonFinite` for arrays that are no solution.
        """
        ...
