"""Directions in weight space, and the update made of them.

Both are a few hundred bytes: whoever has the seeds can regenerate the noise (`coevo.es.noise`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["lowrank", "full"]


@dataclass(frozen=True)
class Directions:
    """One direction per completion: completion i is written under θ + σ εᵢ.

    ``lowrank``: each matrix gets σ/√rank · A Bᵀ as an overlay, so a whole batch shares a forward
    (EGGROLL). ``full``: each parameter gets σ ε in place, one direction at a time (the paper's).
    """

    kind: Kind
    seeds: tuple[int, ...]  # 63-bit direction seeds, one per completion
    sigma: float  # standard deviation of one entry of the perturbation
    rank: int = 1  # of A Bᵀ; only for ``lowrank``


@dataclass(frozen=True)
class Update:
    """An ES step: θ ← θ + (alpha / len(seeds)) Σ weightᵢ εᵢ. ``skipped`` says why there is none."""

    kind: Kind
    seeds: tuple[int, ...]
    weights: tuple[float, ...]  # shaped rewards, one per seed
    alpha: float
    sigma: float  # of the directions it was estimated with
    rank: int = 1
    skipped: str = ""
