"""The same program gives the same answer: every source of randomness starts from a fixed seed.

An unseeded ``np.random.default_rng()`` or ``random.Random()`` would ask the kernel. Here it gets a
fixed stream instead, the same for every candidate.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numba
import numpy as np

SEED = 1234


@numba.njit
def _seed_numba(seed: int) -> None:  # numba keeps generators of its own for compiled code
    np.random.seed(seed)


def warm() -> None:
    """Compile what `fix` needs, once, before the forks."""
    _seed_numba(SEED)


def fix(seed: int = SEED) -> None:
    """Seed ``random``, ``np.random`` and numba, and make unseeded generators start from ``seed``.

    Changes modules of this process: only for a process that runs one candidate.
    """
    stream = random.Random(seed)
    module: Any = random
    # SystemRandom, secrets and NumPy's SeedSequence all read their entropy here.
    module._urandom = stream.randbytes

    class Seeded(random.Random):
        """A `random.Random` whose unseeded state is fixed."""

        def seed(self, a: Any = None, version: int = 2) -> None:
            super().seed(seed if a is None else a, version)

    reseed: Callable[..., None] = random.seed

    def seed_module(a: Any = None, version: int = 2) -> None:
        reseed(seed if a is None else a, version)

    module.Random, module.seed = Seeded, seed_module
    random.seed(seed)
    np.random.seed(seed)
    _seed_numba(seed)
