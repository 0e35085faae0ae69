"""The judge: from a reply to an objective. Parse, run inside the wall, score outside it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import replace

from coevo.attempt import Attempt, Stage
from coevo.error import CoevoError
from coevo.llm.parse import NotParsed, parse
from coevo.problems.base import Infeasible, Instances, NonFinite, Problem
from coevo.sandbox.pool import SandboxPool
from coevo.sandbox.verdict import Verdict
from coevo.search.fingerprint import fingerprint


class SandboxFailed(CoevoError):
    """The sandbox could not run a candidate, twice, for reasons that are not the candidate's."""


class Judge:
    """Gives each attempt its stage and, if it gets that far, its objective.

    Evaluation is deterministic, so a program that was judged before (equal but for names of
    variables, comments and layout) gets that verdict again and costs no time.
    """

    def __init__(self, problem: Problem, instances: Instances, pool: SandboxPool) -> None:
        self._problem = problem
        self._instances = instances
        self._pool = pool
        self._known: dict[str, Attempt] = {}

    def remember(self, attempts: Iterable[Attempt]) -> None:
        """Attempts judged earlier, in an earlier sitting perhaps."""
        for attempt in attempts:
            if attempt.code:
                self._known.setdefault(fingerprint(attempt.code), attempt)

    def judge(self, attempts: Iterable[Attempt]) -> Iterator[Attempt]:
        """Yield each attempt judged, in the order in which they are done.

        Raises `SandboxFailed` at the first infrastructure failure; what was yielded stands.
        """
        parsed = [self._parse(attempt) for attempt in attempts]
        yield from (attempt for attempt in parsed if not attempt.code)
        yield from self.judge_programs(attempt for attempt in parsed if attempt.code)

    def judge_programs(self, attempts: Iterable[Attempt]) -> Iterator[Attempt]:
        """`judge` for attempts whose code is known."""
        first: dict[str, Attempt] = {}
        copies: list[tuple[str, Attempt]] = []
        for attempt in attempts:
            key = fingerprint(attempt.code)
            if key in self._known or key in first:
                copies.append((key, attempt))
            else:
                first[key] = attempt
        fresh = list(first.values())
        for i, verdict in self._pool.map([attempt.code for attempt in fresh]):
            judged = self._score(fresh[i], verdict)
            self.remember([judged])
            yield judged
        for key, attempt in copies:
            yield _as_judged_before(attempt, self._known[key])

    def _parse(self, attempt: Attempt) -> Attempt:
        prompt = attempt.proposal.prompt
        if not attempt.reply.strip():
            return replace(attempt, stage=Stage.REPLY, message="the model returned no text")
        try:
            parsed = parse(prompt.begun, attempt.reply, prompt.function, self._problem.template)
        except NotParsed as error:
            return replace(attempt, stage=Stage.PARSE, message=str(error))
        return replace(attempt, code=parsed.code, idea=parsed.idea)

    def _score(self, attempt: Attempt, verdict: Verdict) -> Attempt:
        if verdict.stage is Stage.INFRASTRUCTURE:
            raise SandboxFailed(verdict.message)
        stage, message, objective = verdict.stage, verdict.message, None
        started = time.perf_counter()
        if verdict.arrays is not None:
            try:
                objective = self._problem.score(self._instances, verdict.arrays)
            except Infeasible as error:
                stage, message = Stage.INFEASIBLE, str(error)
            except NonFinite as error:
                stage, message = Stage.NONFINITE, str(error)
        seconds = verdict.seconds + time.perf_counter() - started
        return replace(
            attempt, stage=stage, message=message, objective=objective, evaluate_s=seconds
        )


def _as_judged_before(attempt: Attempt, before: Attempt) -> Attempt:
    message = f"the same program as attempt {before.number}"
    if before.message:
        message = f"{before.message} ({message})"
    return replace(attempt, stage=before.stage, message=message, objective=before.objective)
