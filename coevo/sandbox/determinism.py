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


def seed_process(seed: int = SEED) -> None:
    """Seed `random`, `np.random` and numba; after each fork, where `random` reseeds itself."""
    random.seed(seed)
    np.random.seed(seed)
    _seed_numba(seed)


def fix(seed: int = SEED) -> None:
    """Make every generator that is not given a seed start from ``seed``.

    Changes the modules of this process: only for the zygote, once, before it forks.
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
    seed_process(seed)
