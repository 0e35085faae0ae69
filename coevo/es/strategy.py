"""The evolution strategy, ask/tell: directions out, attempts in, an update out.

It knows nothing of models: whoever has the weights writes attempt i under direction i, and applies
the `Update`. An update is always made, also when there is nothing to learn from a step; then its
``skipped`` says why, and it moves nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from coevo.attempt import Attempt, Stage
from coevo.es.directions import Directions, Kind, Update
from coevo.es.schedule import SCHEDULES, scheduled
from coevo.es.shaping import SHAPINGS, Sense
from coevo.streams import stream_seed


@dataclass(frozen=True)
class ESSettings:
    """How to evolve. σ is per entry of a weight in both kinds.

    At equal σ both kinds change a layer's output by as much, but a rank-1 direction does it all
    along one vector: its spectral norm is about σ √(mn), that of a full one σ (√m + √n).
    """

    kind: Literal["none", "lowrank", "full"] = "lowrank"  # none: the weights stay as they are
    rank: int = 1  # of a low-rank direction, at least 1
    sigma: float = 1e-3  # standard deviation of one entry of a direction at the start, > 0
    sigma_final: float = 2.5e-4  # at the last step, ≥ 0
    sigma_floor: float = 1e-4  # σ never goes below: attempts of one and the same model are noise
    schedule: str = "cosine"  # of σ: a name in `coevo.es.schedule.SCHEDULES`
    warmup_steps: int = 0  # steps that hold σ at its start
    alpha: float = 5e-4  # learning rate at the start, > 0: θ += (alpha/G) Σ weight ε
    alpha_follows_sigma: bool = True  # keep alpha / σ constant, so that steps shrink with σ
    shaping: str = "staged"  # a name in `coevo.es.shaping.SHAPINGS`
    min_scored: int = 2  # fewer scored attempts than this make no step
    quorum: float = 0.5  # nor does losing more than 1 - quorum of them to the machine, 0 … 1

    def __post_init__(self) -> None:
        choices = {"kind": ("none", *get_args(Kind)), "schedule": SCHEDULES, "shaping": SHAPINGS}
        for name, known in choices.items():
            if getattr(self, name) not in known:
                raise ValueError(
                    f"unknown {name} {getattr(self, name)!r}; choose one of {', '.join(known)}"
                )
        for name, low, high, exclusive in _RANGES:
            value = getattr(self, name)
            above_low = value > low if exclusive else value >= low
            if not (math.isfinite(value) and above_low and value <= high):
                above = "greater than" if exclusive else "at least"
                limit = "" if math.isinf(high) else f" and at most {high:g}"
                raise ValueError(f"{name} must be finite, {above} {low:g}{limit}; got {value}")
        if self.sigma_floor > self.sigma:
            raise ValueError(
                f"sigma_floor {self.sigma_floor} is above sigma {self.sigma}; lower the floor"
            )

    @classmethod
    def paper(cls) -> ESSettings:
        """The published settings for heuristic design, with their defects; for comparison."""
        return cls(
            kind="full",
            sigma_final=0.0,
            sigma_floor=0.0,
            alpha_follows_sigma=False,
            shaping="paper",
            min_scored=0,
            quorum=0.0,
        )


_RANGES = (
    # name, low, high, whether low itself is excluded
    ("rank", 1, math.inf, False),
    ("sigma", 0, math.inf, True),
    ("sigma_final", 0, math.inf, False),
    ("sigma_floor", 0, math.inf, False),
    ("warmup_steps", 0, math.inf, False),
    ("alpha", 0, math.inf, True),
    ("min_scored", 0, math.inf, False),
    ("quorum", 0, 1, False),
)


class EvolutionStrategy:
    """An evolution strategy over weights that it never sees. ``ask`` and ``tell`` alternate."""

    def __init__(self, settings: ESSettings, seed: int, total_steps: int) -> None:
        """``seed`` is the run's; σ's schedule runs over ``total_steps``, at least 1."""
        if settings.kind == "none":
            raise ValueError("settings of kind none need no strategy; choose lowrank or full")
        if total_steps < 1:
            raise ValueError(f"a strategy needs at least one step, got {total_steps}")
        self.settings = settings
        self.seed = seed
        self.total_steps = total_steps
        self.step = 0  # updates made so far, skipped ones included
        self._kind: Kind = settings.kind
        self._asked: Directions | None = None

    @property
    def sigma(self) -> float:
        """σ of the present step."""
        s = self.settings
        return scheduled(
            s.schedule,
            self.step,
            self.total_steps,
            s.sigma,
            s.sigma_final,
            s.warmup_steps,
            s.sigma_floor,
        )

    @property
    def alpha(self) -> float:
        """The learning rate of the present step."""
        s = self.settings
        return s.alpha * (self.sigma / s.sigma if s.alpha_follows_sigma else 1.0)

    def ask(self, n: int) -> Directions:
        """``n`` directions for the present step.

        Direction i has the seed ``stream_seed(run's seed, "direction", step, i)``, so asking again
        before ``tell`` gives the same again.
        """
        if n < 1:
            raise ValueError(f"ask for at least one direction, got {n}")
        seeds = tuple(stream_seed(self.seed, "direction", self.step, i) for i in range(n))
        self._asked = Directions(self._kind, seeds, self.sigma, self.settings.rank)
        return self._asked

    def tell(
        self, attempts: Sequence[Attempt], population: Mapping[int, Attempt], sense: Sense
    ) -> Update:
        """The update that the attempts of the asked directions are worth.

        Attempts without a direction are ignored. Several attempts under one direction share it:
        their rewards are averaged. ``population`` maps numbers to the attempts that could be
        parents of these, and ``sense`` is the problem's. Raises ValueError on a direction that was
        not asked.
        """
        asked = self._asked
        if asked is None:
            raise ValueError("tell before ask: ask for directions first")
        written = [a for a in attempts if a.direction is not None]
        for attempt in written:
            if attempt.direction not in asked.seeds:
                raise ValueError(
                    f"attempt {attempt.number} was written under direction {attempt.direction}, "
                    f"which step {self.step} did not ask for"
                )
        rewards = SHAPINGS[self.settings.shaping](written, population, sense)
        earned: dict[int, list[float]] = {}
        for attempt, reward in zip(written, rewards, strict=True):
            if attempt.direction is not None and attempt.stage is not Stage.INFRASTRUCTURE:
                earned.setdefault(attempt.direction, []).append(float(reward))
        seeds = tuple(seed for seed in asked.seeds if seed in earned)
        weights = tuple(math.fsum(earned[seed]) / len(earned[seed]) for seed in seeds)
        skipped = self._why_not(asked, written, weights)
        update = Update(
            asked.kind,
            seeds,
            tuple(0.0 for _ in weights) if skipped else weights,
            self.alpha,
            asked.sigma,
            asked.rank,
            skipped,
        )
        self.step += 1
        self._asked = None
        return update

    def state(self) -> dict[str, Any]:
        """Plain JSON data from which `restore` goes on to the same future."""
        return {"step": self.step, "asked": len(self._asked.seeds) if self._asked else 0}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take up the `state` of a strategy with the same settings, seed and total of steps."""
        step, asked = state.get("step"), state.get("asked")
        if type(step) is not int or type(asked) is not int or min(step, asked) < 0:
            raise ValueError(f"not the state of an evolution strategy: {dict(state)!r}")
        self.step, self._asked = step, None
        if asked:
            self.ask(asked)

    def _why_not(
        self, asked: Directions, written: Sequence[Attempt], weights: Sequence[float]
    ) -> str:
        """Why there is no step to make; empty if there is one."""
        scored = sum(a.scored for a in written)
        lost = len(asked.seeds) - len(weights)
        if asked.sigma <= 0:
            return "sigma is 0: all directions are the same model"
        if len(weights) < self.settings.quorum * len(asked.seeds):
            return f"{lost} of {len(asked.seeds)} directions have no attempt: below quorum"
        if scored < self.settings.min_scored:
            return f"{scored} of {len(written)} attempts scored, {self.settings.min_scored} needed"
        if not any(weights):
            return "zero spread: all attempts are worth the same"
        if not all(map(math.isfinite, weights)):
            return "the rewards are not finite: the objectives are too large to compare"
        return ""
