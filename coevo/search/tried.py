"""What a run has tried so far, as a prompt can show it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from coevo.problems.base import Sense
from coevo.search.individual import Individual


class Tried:
    """Every distinct objective of a run: how often it came up, and the first idea that gave it.

    A small model writes its favourite heuristic again and again. Told which ones are worn out, it
    has a chance to leave them.
    """

    def __init__(self, sense: Sense) -> None:
        self.sense = sense
        self._seen: dict[float, tuple[int, str]] = {}

    def __len__(self) -> int:
        """Number of distinct objectives."""
        return len(self._seen)

    def add(self, individuals: Iterable[Individual]) -> None:
        for one in individuals:
            count, idea = self._seen.get(one.objective, (0, ""))
            self._seen[one.objective] = (count + 1, idea or one.idea)

    def shown(self, count: int) -> list[tuple[float, int, str]]:
        """At most ``count`` entries (objective, times, idea), best objective first.

        Half of them the most frequent, which are to be avoided; the rest the best, to be beaten.
        Entries without an idea say nothing and are left out.
        """
        told = [(value, times, idea) for value, (times, idea) in self._seen.items() if idea]
        sign = 1 if self.sense == "min" else -1
        best = sorted(told, key=lambda entry: sign * entry[0])
        frequent = sorted(best, key=lambda entry: -entry[1])
        chosen = dict.fromkeys([*frequent[: count // 2], *best][: count + count // 2])
        return sorted(list(chosen)[:count], key=lambda entry: sign * entry[0])

    def state(self) -> list[list[Any]]:
        return [[value, count, idea] for value, (count, idea) in self._seen.items()]

    def restore(self, state: list[list[Any]]) -> None:
        self._seen = {float(value): (int(count), str(idea)) for value, count, idea in state}
