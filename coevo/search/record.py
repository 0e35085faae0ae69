"""What every search method keeps of its past: incumbents, tried objectives, a logbook."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from deap import tools

from coevo.attempt import Attempt
from coevo.problems.base import Sense
from coevo.search.individual import Individual, individual, same_objective
from coevo.search.tried import Tried

INCUMBENTS = 10


class Record:
    """The past of a run, batch by batch. Holds no random state."""

    def __init__(self, sense: Sense) -> None:
        self.sense = sense
        self.told = 0  # attempts
        self.tried = Tried(sense)
        self.incumbents = tools.HallOfFame(INCUMBENTS, similar=same_objective)  # best first
        self.logbook = tools.Logbook()  # one entry per batch
        self.logbook.header = ["batch", "attempts", "scored", "distinct", "best", "median", "worst"]
        self._statistics = tools.Statistics(lambda one: one.objective)
        self._statistics.register("best", min if sense == "min" else max)
        self._statistics.register("median", lambda values: float(np.median(values)))
        self._statistics.register("worst", max if sense == "min" else min)

    def tell(self, attempts: Sequence[Attempt]) -> list[Individual]:
        """Note a batch; returns its individuals (scored, finite) in order."""
        individuals = [one for a in attempts if (one := individual(a, self.sense)) is not None]
        self.told += len(attempts)
        self.tried.add(individuals)
        self.incumbents.update(individuals)
        self.logbook.record(
            batch=len(self.logbook),
            attempts=len(attempts),
            scored=len(individuals),
            distinct=len(self.tried),
            **(self._statistics.compile(individuals) if individuals else {}),
        )
        return individuals

    @property
    def best(self) -> Individual | None:
        """The incumbent, or None before anything was scored."""
        return self.incumbents[0] if len(self.incumbents) else None

    def state(self) -> dict[str, Any]:
        return {
            "told": self.told,
            "tried": self.tried.state(),
            "incumbents": [one.state() for one in self.incumbents],
            "logbook": [dict(entry) for entry in self.logbook],
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.told = int(state["told"])
        self.tried.restore(state["tried"])
        self.incumbents.clear()
        self.incumbents.update([Individual(**one) for one in state["incumbents"]])
        del self.logbook[:]
        for entry in state["logbook"]:
            self.logbook.record(**entry)
