"""Independent sampling: i1 again and again, the baseline that a search method has to beat."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from coevo.attempt import Attempt, Proposal
from coevo.problems.base import Problem
from coevo.search.individual import Individual
from coevo.search.operators import propose
from coevo.search.record import Record
from coevo.search.tried import Tried
from coevo.search.wording import DEFAULT, Wording, wording
from coevo.streams import stream


@dataclass(frozen=True)
class SamplingSettings:
    """Settings of independent sampling."""

    batch: int = 20  # proposals written together
    wording: str | Wording = DEFAULT  # a preset's name, or your own; nothing tried is ever shown

    def __post_init__(self) -> None:
        if not isinstance(self.batch, int) or self.batch < 1:
            raise ValueError(f"batch must be a whole number, at least 1, got {self.batch!r}")


class Sampling:
    """Proposals that know nothing of each other. ``ask`` changes nothing, as in `EoH`."""

    def __init__(
        self,
        problem: Problem,
        *,
        seed: int,
        continues: bool = True,
        settings: SamplingSettings | None = None,
    ) -> None:
        self.problem = problem
        self.seed = seed
        self.continues = continues
        self.settings = settings = settings or SamplingSettings()
        self.wording = wording(settings.wording)
        self.record = Record(problem.sense)
        self._untried = Tried(problem.sense)

    def ask(self, budget_left: int) -> list[Proposal]:
        if budget_left < 1:
            raise ValueError(f"nothing left to spend: budget_left is {budget_left}")
        return [self._propose(slot) for slot in range(min(self.settings.batch, budget_left))]

    def _propose(self, slot: int) -> Proposal:
        rng = stream(self.seed, "sampling", self.record.told + slot)
        return propose("i1", self.problem, [], self._untried, self.wording, rng, self.continues)

    def tell(self, attempts: Sequence[Attempt]) -> None:
        self.record.tell(attempts)

    def batches(self, budget: int) -> int:
        return max(1, math.ceil(budget / self.settings.batch))

    @property
    def best(self) -> Individual | None:
        """The incumbent, or None before anything was scored."""
        return self.record.best

    def state(self) -> dict[str, Any]:
        return {"record": self.record.state()}

    def restore(self, state: dict[str, Any]) -> None:
        self.record.restore(state["record"])
