"""bf16 in plain NumPy, and the published way to move bf16 weights, to compare with."""

from __future__ import annotations

import numpy as np


def rounded(values: np.ndarray) -> np.ndarray:
    """Round float32 to the nearest bf16, ties to even; the bits as uint16."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def widened(bits: np.ndarray) -> np.ndarray:
    """The float32 values of bf16 bits."""
    return (bits.astype(np.uint32) << 16).view(np.float32)


def added(bits: np.ndarray, change: np.ndarray) -> np.ndarray:
    """What ``weight.add_(change)`` gives in bf16: the sum rounded, its remainder lost."""
    return rounded(widened(bits) + change.astype(np.float32))


def weights(shape: tuple[int, ...], seed: int = 0, std: float = 0.02) -> np.ndarray:
    """Weights as a model has them: bf16 bits of a Gaussian."""
    return rounded(np.random.default_rng(seed).standard_normal(shape) * std)
