"""The record that every part of coevo passes on: a proposal, and what became of it.

A `Proposal` says what to ask the model. An `Attempt` is that proposal's whole life: the reply,
the code found in it, the stage it reached and, if it got that far, its objective.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Stage(str, Enum):
    """How far an attempt got, in the order in which things can go wrong."""

    REPLY = "reply"  # the model returned no text
    PARSE = "parse"  # no function could be found in the text
    UNSAFE = "unsafe"  # the code asks for something that a heuristic never needs
    COMPILE = "compile"  # it is not Python, or it fails when it is defined
    SIGNATURE = "signature"  # the function cannot take the problem's arguments
    RUNTIME = "runtime"  # it raised an exception
    TIMEOUT = "timeout"  # it was still running at the limit
    MEMORY = "memory"  # it asked for more memory than allowed
    OUTPUT = "output"  # what it returned has the wrong type or shape
    INFEASIBLE = "infeasible"  # right type, but no solution of the instance
    NONFINITE = "nonfinite"  # NaN or infinity where a number was due
    SCORED = "scored"  # it has an objective
    INFRASTRUCTURE = "infrastructure"  # the machine's fault: never a reward, always retried

    @property
    def rank(self) -> int:
        """Position in the order above, 0 … 11; -1 for ``infrastructure``, which has none."""
        return -1 if self is Stage.INFRASTRUCTURE else _ORDER[self]


_ORDER = {stage: i for i, stage in enumerate(Stage)}


@dataclass(frozen=True)
class Prompt:
    """A finished prompt for a chat model.

    ``begun`` is the start of the reply, written for the model, which continues from there (opening
    fence, imports, signature, ``# Idea:``). Empty for endpoints that cannot continue a reply. A
    completion's text never repeats it. ``function`` is the name of the function that is asked for.
    """

    user: str
    system: str = ""
    begun: str = ""
    function: str = ""


@dataclass(frozen=True)
class Proposal:
    """What a search wants tried: an operator, its parents (attempt numbers) and a prompt."""

    operator: str
    parents: tuple[int, ...]
    prompt: Prompt


@dataclass(frozen=True)
class Attempt:
    """One proposal's whole life. Objectives are raw, in the problem's own sense."""

    number: int  # 1 … budget, in the order of proposing
    generation: int  # 0, 1, …
    proposal: Proposal
    direction: int | None = None  # seed of the ES direction it was written under
    reply: str = ""  # what the model wrote, without the part begun for it
    tokens: int = 0  # new tokens in the reply
    code: str = ""  # the program found in it, as it was run
    idea: str = ""  # one line, in the model's words
    stage: Stage = Stage.REPLY
    message: str = ""  # why it ended there, one line
    objective: float | None = None  # only if ``stage`` is ``scored``
    write_s: float = 0.0  # the reply's share of generation time, seconds
    evaluate_s: float = 0.0  # wall-clock seconds in the sandbox and the score

    @property
    def operator(self) -> str:
        return self.proposal.operator

    @property
    def parents(self) -> tuple[int, ...]:
        return self.proposal.parents

    @property
    def scored(self) -> bool:
        return self.stage is Stage.SCORED
