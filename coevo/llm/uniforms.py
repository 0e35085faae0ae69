"""Uniform numbers that a completion's sampling uses: number k of seed s, and nothing else.

Counter-based (SplitMix64, Steele et al. 2014): the k-th number depends on (seed, k) only, so a
completion depends on its own seed and not on its neighbours or on the order of sampling.
"""

from __future__ import annotations

import numpy as np

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def uniforms(seeds: np.ndarray, counters: np.ndarray) -> np.ndarray:
    """Numbers in [0, 1): float64[n] for seeds uint64[n] and counters uint64[n]."""
    with np.errstate(over="ignore"):
        state = _mix(seeds + _GOLDEN) + (counters + np.uint64(1)) * _GOLDEN
        return (_mix(state) >> np.uint64(11)) * 2.0**-53


def _mix(z: np.ndarray) -> np.ndarray:
    """SplitMix64's finaliser."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
