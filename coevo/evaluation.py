"""Evaluate heuristics on one set of instances, through the same walls as in a run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from coevo.attempt import Attempt, Prompt, Proposal, Stage
from coevo.error import CoevoError
from coevo.judge import Judge
from coevo.problems.base import Instances, Problem
from coevo.sandbox.limits import Limits
from coevo.sandbox.pool import SandboxPool

TRAIN = 64  # instances that the time limit is meant for; larger sets get proportionally more


@dataclass(frozen=True)
class Evaluation:
    """What became of a heuristic. ``objective`` is None unless ``stage`` is ``scored``."""

    stage: Stage
    objective: float | None
    message: str
    seconds: float


@dataclass(frozen=True)
class Evaluator:
    """Runs and scores complete programs in a pool that is open."""

    problem: Problem
    instances: Instances
    pool: SandboxPool

    def evaluate(self, code: str) -> Evaluation:
        proposal = Proposal("given", (), Prompt(user="", function=self.problem.function))
        judge = Judge(self.problem, self.instances, self.pool)
        (judged,) = judge.judge_programs([Attempt(1, 0, proposal, code=code)])
        return Evaluation(judged.stage, judged.objective, judged.message, judged.evaluate_s)

    def baseline(self) -> Evaluation:
        """The problem's first baseline. Raises `CoevoError` if even that does not get a score."""
        name, code = next(iter(self.problem.baselines.items()))
        result = self.evaluate(code)
        if result.objective is None:
            raise CoevoError(
                f"the baseline {name!r} of {self.problem.name} ends as {result.stage.value} "
                f"({result.message}); run `coevo doctor`, or allow more time with --timeout"
            )
        return result


@contextmanager
def evaluator(
    problem: Problem, instances: Instances, limits: Limits, unsafe: bool = False
) -> Iterator[Evaluator]:
    """An evaluator with a pool of its own; its time limit grows with the number of instances."""
    factor = max(1.0, len(instances) / TRAIN)
    limits = replace(limits, seconds=limits.seconds * factor)
    with SandboxPool(problem, instances, limits, workers=1, unsafe=unsafe) as pool:
        yield Evaluator(problem, instances, pool)
