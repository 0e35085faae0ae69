"""Evolution of Heuristics (EoH, arXiv 2401.02051): a population of heuristics and five operators.

A generation: every operator proposes its offspring, the model writes them, the best ten distinct
objectives survive. All four operators take their parents at the generation's start, so that the
model writes them in one batch; ``paper`` keeps the published order, operator by operator.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from deap import base

from coevo.attempt import Attempt, Proposal
from coevo.problems.base import Problem
from coevo.search.individual import Individual
from coevo.search.operators import PARENTS, propose
from coevo.search.population import survivors
from coevo.search.record import Record
from coevo.search.selection import by_rank
from coevo.search.wording import DEFAULT, Wording, wording
from coevo.streams import stream


@dataclass(frozen=True)
class EoHSettings:
    """Settings of EoH; the defaults are the published ones but for ``paper`` and the wording."""

    population: int = 10  # individuals that survive
    offspring: int = 10  # proposals per operator and generation
    operators: tuple[str, ...] = ("e1", "e2", "m1", "m2")  # in this order
    initial: int = 20  # i1 attempts before the first generation; they spend budget too
    paper: bool = False  # operator by operator, the population managed after each
    wording: str | Wording = DEFAULT  # a preset's name, or your own

    def __post_init__(self) -> None:
        unknown = [name for name in self.operators if name not in PARENTS]
        if unknown or not self.operators:
            raise ValueError(f"unknown operators {unknown}; choose from: {', '.join(PARENTS)}")
        for name in ("population", "offspring", "initial"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 1:
                raise ValueError(f"{name} must be a whole number, at least 1, got {value!r}")


class EoH:
    """EoH as ask/tell. ``ask`` changes nothing: asked twice, it proposes the same again.

    Randomness comes from a stream per proposal, named by how many attempts were told before it, so
    the state holds no generator.
    """

    def __init__(
        self,
        problem: Problem,
        *,
        seed: int,
        continues: bool = True,
        settings: EoHSettings | None = None,
    ) -> None:
        self.problem = problem
        self.seed = seed
        self.continues = continues
        self.settings = settings = settings or EoHSettings()
        self.wording = wording(settings.wording)
        self.record = Record(problem.sense)
        self.population: list[Individual] = []  # best first
        self.turn = 0  # batches bred since the initialisation
        self.toolbox = base.Toolbox()
        self.toolbox.register("select", by_rank, size=settings.population)
        self.toolbox.register("survive", survivors, size=settings.population)

    def ask(self, budget_left: int) -> list[Proposal]:
        """The initialisation (i1), then a generation, or with ``paper`` one operator's part of it.

        i1 goes on, ``population`` at a time, until two individuals exist. A generation that does
        not fit in the budget is cut evenly across its operators.
        """
        if budget_left < 1:
            raise ValueError(f"nothing left to spend: budget_left is {budget_left}")
        slots = self._slots()[:budget_left]
        slots.sort(key=(*self.settings.operators, "i1").index)
        return [self._propose(operator, slot) for slot, operator in enumerate(slots)]

    def tell(self, attempts: Sequence[Attempt]) -> None:
        starting = self._starting
        individuals = self.record.tell(attempts)
        self.population = self.toolbox.survive([*self.population, *individuals])
        self.turn += not starting

    def batches(self, budget: int) -> int:
        settings = self.settings
        size = settings.offspring * (1 if settings.paper else len(settings.operators))
        return 1 + max(0, math.ceil((budget - settings.initial) / size))

    @property
    def best(self) -> Individual | None:
        """The incumbent, or None before anything was scored."""
        return self.record.best

    @property
    def _starting(self) -> bool:
        return self.record.told < self.settings.initial or len(self.population) < 2

    def _slots(self) -> list[str]:
        """The operators of the next batch, interleaved."""
        settings = self.settings
        if self._starting:
            missing = settings.initial - self.record.told
            return ["i1"] * (missing if missing > 0 else settings.population)
        if settings.paper:
            return [settings.operators[self.turn % len(settings.operators)]] * settings.offspring
        return list(settings.operators) * settings.offspring

    def _propose(self, operator: str, slot: int) -> Proposal:
        rng = stream(self.seed, "eoh", self.record.told + slot)
        count = PARENTS[operator]
        parents = self.toolbox.select(self.population, count, rng=rng) if count else []
        return propose(
            operator, self.problem, parents, self.record.tried, self.wording, rng, self.continues
        )

    def state(self) -> dict[str, Any]:
        return {
            "turn": self.turn,
            "population": [one.state() for one in self.population],
            "record": self.record.state(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.turn = int(state["turn"])
        self.population = [Individual(**one) for one in state["population"]]
        self.record.restore(state["record"])
