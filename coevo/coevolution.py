"""The loop: a search proposes, a model writes, the judge scores, both learn from it.

    search.ask ─► model.generate ─► judge ─► search.tell
                       ▲                        │
                       └── update ◄── es.tell ◄─┘

Each arrow is written to the store before the next one is taken, and everything random comes from
the run's seed and a name, so a run that was killed anywhere goes on to the end it would have had.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from coevo.attempt import Attempt
from coevo.es.directions import Directions
from coevo.es.history import update_record
from coevo.es.strategy import EvolutionStrategy
from coevo.incumbent import incumbent
from coevo.judge import Judge
from coevo.llm.base import Completion, EvolvableModel, LanguageModel, Sampling
from coevo.observer import Observer
from coevo.problems.base import Problem
from coevo.search.base import Search
from coevo.stop.attempts import MaxAttempts
from coevo.stop.base import Progress, StoppingRule, first_reason
from coevo.store import InFlight, RunStore, StoreError
from coevo.streams import stream_seed

GENERATION = 10_000  # what ask() is offered when no rule limits the attempts


@dataclass
class Coevolution:
    """One run, ready to go. Fresh or restored parts alike: it looks in the store where to start."""

    seed: int
    problem: Problem
    search: Search
    model: LanguageModel
    judge: Judge
    store: RunStore
    rules: Sequence[StoppingRule]
    sampling: Sampling
    strategy: EvolutionStrategy | None = None
    observer: Observer = field(default_factory=Observer)

    def __post_init__(self) -> None:
        self._attempts = {attempt.number: attempt for attempt in self.store.attempts()}
        self._incumbent = incumbent(self._attempts.values(), self.problem.sense)

    def run(self) -> str:
        """Run generations until a rule says stop. Returns its reason."""
        unfinished = self.store.in_flight()
        while unfinished or not (reason := first_reason(self.rules, self.progress)):
            self._generation(unfinished)
            unfinished = None
        return reason

    @property
    def best(self) -> Attempt | None:
        """The incumbent."""
        return self._incumbent

    def _generation(self, unfinished: InFlight | None) -> None:
        started = time.perf_counter()
        flight, directions = self._propose(unfinished)
        attempts = self._write(flight, directions)
        attempts = self._judge(flight, attempts)
        self.search.tell(attempts)
        update = self._evolve(attempts) if directions else None
        self.store.commit(
            flight.number,
            time.perf_counter() - started,
            self.search.state(),
            self.strategy.state() if self.strategy else None,
            update,
        )
        self.observer.closed(self.progress)

    def _propose(self, unfinished: InFlight | None) -> tuple[InFlight, Directions | None]:
        """Ask for a generation and write it down; or ask again for the one that was cut short."""
        number = unfinished.number if unfinished else self.store.generations()
        limit = len(unfinished.attempts) if unfinished else self._attempts_left()
        proposals = self.search.ask(limit)
        directions = self.strategy.ask(len(proposals)) if self.strategy else None
        if unfinished is None:
            seeds, sigma = (directions.seeds, directions.sigma) if directions else (None, None)
            attempts = self.store.propose(number, proposals, seeds, sigma)
            unfinished = InFlight(number, sigma, attempts, set(), set())
        elif [attempt.proposal for attempt in unfinished.attempts] != proposals:
            raise StoreError(
                f"{self.store.path} was cut short by another version of coevo or of the problem; "
                "resume it with that version"
            )
        self.observer.proposed(unfinished.attempts)
        return unfinished, directions

    def _write(self, flight: InFlight, directions: Directions | None) -> list[Attempt]:
        """Have the model write what is not yet written; keep each reply as it comes.

        Where a completion depends on its batch, in the last bits, a batch cut short is written
        again as a whole, and comes out the same as without the cut.
        """
        written = {i for i, a in enumerate(flight.attempts) if a.number in flight.written}
        if len(written) < len(flight.attempts) and not self.model.order_free:
            written = set()
        missing = [i for i in range(len(flight.attempts)) if i not in written]
        attempts = list(flight.attempts)

        def keep(k: int, completion: Completion) -> None:
            i = missing[k]
            text, tokens, seconds = completion.text, completion.tokens, completion.seconds
            self.store.write_reply(attempts[i].number, text, tokens, seconds)
            attempts[i] = self.store.attempt(attempts[i].number)
            self.observer.written(attempts[i], completion)

        if missing:
            self.model.generate(
                [attempts[i].proposal.prompt for i in missing],
                self.sampling,
                [stream_seed(self.seed, "completion", attempts[i].number) for i in missing],
                _chosen(directions, missing),
                keep,
            )
        return attempts

    def _judge(self, flight: InFlight, attempts: list[Attempt]) -> list[Attempt]:
        """Judge what is not yet judged; keep each verdict as it comes."""
        done = {a.number: a for a in attempts if a.number in flight.judged}
        self.judge.remember(done.values())
        for attempt in self.judge.judge(a for a in attempts if a.number not in done):
            self.store.write_verdict(attempt)
            done[attempt.number] = attempt
            self.observer.judged(attempt)
        ordered = [done[number] for number in sorted(done)]
        for attempt in ordered:
            self._attempts[attempt.number] = attempt
            if incumbent([self._incumbent, attempt], self.problem.sense) is attempt:
                self._incumbent = attempt
                self.observer.improved(attempt)
        return ordered

    def _evolve(self, attempts: list[Attempt]) -> dict[str, Any]:
        """Let the weights learn from the same attempts. Returns the record of the step."""
        assert self.strategy is not None
        assert isinstance(self.model, EvolvableModel)
        update = self.strategy.tell(attempts, self._attempts, self.problem.sense)
        before = self.model.digest()
        if not update.skipped:
            self.model.apply(update)
        self.observer.updated(update)
        return update_record(update, before, self.model.digest())

    @property
    def progress(self) -> Progress:
        return Progress(
            self.problem.sense,
            attempts=len(self._attempts),
            tokens=sum(attempt.tokens for attempt in self._attempts.values()),
            seconds=self.store.seconds(),
            incumbent=self._incumbent.objective if self._incumbent else None,
        )

    def _attempts_left(self) -> int:
        limits = [r.left(self.progress) for r in self.rules if isinstance(r, MaxAttempts)]
        return min(limits, default=GENERATION)


def _chosen(directions: Directions | None, indices: Sequence[int]) -> Directions | None:
    if directions is None:
        return None
    return replace(directions, seeds=tuple(directions.seeds[i] for i in indices))
