"""Landing an ES step in the weights, with nothing lost to rounding.

A bf16 weight is kept as two arrays: its bits (uint16, what the model computes with) and a residual
(int16). Together they are a float32 master,

    float32 bits = (bf16 bits << 16) + residual,

and the bf16 is always the master's rounding to nearest, ties to even. So steps far below a bf16 ulp
add up in float32 at the cost of two bytes per weight, and the residual starts as zeros. float32
weights are their own master. All directions are summed in one pass over the weights, each element
in float32 and in the order of the seeds: bit-identical for any number of threads. Directions with
weight 0 are left out.

All functions work in place on C-contiguous arrays; a torch tensor of bf16 comes as
``tensor.view(torch.uint16).numpy()``.
"""

from __future__ import annotations

import math

import numpy as np

from coevo.es.directions import Kind, Update
from coevo.es.noise import batched_lowrank_factors, keys, table


def apply_lowrank(
    weight: np.ndarray, residual: np.ndarray | None, update: Update, name: str
) -> None:
    """Add (alpha/G) Σ zᵢ Aᵢ Bᵢᵀ/√rank to a matrix, in place.

    ``weight`` is uint16[m, n] (bf16 bits) with ``residual`` int16[m, n], or float32[m, n] with
    None. ``name`` is the parameter's canonical Hugging Face name.
    """
    from coevo.es.kernels import add_lowrank_bf16, add_lowrank_float32, threads

    _check(weight, residual, update, "lowrank", name)
    if weight.ndim != 2:
        raise ValueError(f"{name}: low-rank updates are for matrices, got shape {weight.shape}")
    seeds, scales = _active(update, 1 / math.sqrt(update.rank))
    if not seeds or not weight.size:
        return
    m, n = weight.shape
    a, b = batched_lowrank_factors(seeds, name, (m, n), update.rank)
    left = np.ascontiguousarray((a * scales[:, None, None]).transpose(1, 0, 2)).reshape(m, -1)
    right = np.ascontiguousarray(b.transpose(0, 2, 1)).reshape(-1, n)
    with threads(weight.size * len(right)):
        if residual is None:
            add_lowrank_float32(weight, left, right)
        else:
            add_lowrank_bf16(weight, residual, left, right)


def apply_full(
    weight: np.ndarray, residual: np.ndarray | None, update: Update, name: str, start: int = 0
) -> None:
    """Add (alpha/G) Σ zᵢ εᵢ to a parameter of any shape, in place.

    ``weight`` is uint16 (bf16 bits) with ``residual`` int16 of the same shape, or float32 with
    None. A shard holds the elements from ``start`` on of the whole row-major tensor.
    """
    from coevo.es.kernels import add_full_bf16, add_full_float32, threads

    _check(weight, residual, update, "full", name)
    seeds, scales = _active(update, 1.0)
    if not seeds or not weight.size:
        return
    directions = keys(seeds, name), scales, table()
    with threads(weight.size * len(seeds)):
        if residual is None:
            add_full_float32(weight.reshape(-1), start, *directions)
        else:
            add_full_bf16(weight.reshape(-1), residual.reshape(-1), start, *directions)


def perturb_full(weight: np.ndarray, seed: int, name: str, sigma: float, start: int = 0) -> None:
    """Move a parameter to θ + sigma ε, in place: uint16 (bf16 bits, rounded) or float32.

    There is no inverse: subtracting sigma ε again is not exact in floating point. Restore from a
    copy.
    """
    from coevo.es.kernels import add_full_float32, perturb_bf16, threads

    if weight.dtype not in (np.uint16, np.float32) or not weight.flags.c_contiguous:
        raise ValueError(f"{name}: {_EXPECTED}; got {weight.dtype}")
    if not math.isfinite(sigma):
        raise ValueError(f"{name}: sigma must be finite, got {sigma}")
    if not weight.size:
        return
    flat = weight.reshape(-1)
    direction = keys((seed,), name), np.array([sigma], np.float32), table()
    with threads(weight.size):
        if weight.dtype == np.uint16:
            perturb_bf16(flat, start, *direction)
        else:
            add_full_float32(flat, start, *direction)


def master(weight: np.ndarray, residual: np.ndarray) -> np.ndarray:
    """The float32 values that bf16 bits and residual stand for, as a new array."""
    bits = (weight.astype(np.int64) << 16) + residual
    return bits.astype(np.uint32).view(np.float32)


_EXPECTED = "weights must be C-contiguous uint16 (bf16 bits, with an int16 residual) or float32"


def _check(
    weight: np.ndarray, residual: np.ndarray | None, update: Update, kind: Kind, name: str
) -> None:
    if update.kind != kind:
        raise ValueError(f"{name}: a {update.kind} update needs apply_{update.kind}")
    if len(update.seeds) != len(update.weights):
        raise ValueError(f"{name}: {len(update.seeds)} seeds but {len(update.weights)} weights")
    arrays = [weight] if residual is None else [weight, residual]
    dtypes = [np.float32] if residual is None else [np.uint16, np.int16]
    if [a.dtype for a in arrays] != dtypes or not all(a.flags.c_contiguous for a in arrays):
        found = " with ".join(str(a.dtype) for a in arrays)
        raise ValueError(f"{name}: {_EXPECTED}; got {found}")
    if residual is not None and residual.shape != weight.shape:
        raise ValueError(
            f"{name}: the residual has shape {residual.shape}, the weight {weight.shape}"
        )


def _active(update: Update, factor: float) -> tuple[list[int], np.ndarray]:
    """Seeds with a weight other than 0, and their coefficients in the sum: float32[len(seeds)]."""
    if update.skipped:
        return [], np.empty(0, np.float32)
    pairs = [(s, w) for s, w in zip(update.seeds, update.weights, strict=True) if w]
    rate = update.alpha / max(1, len(update.seeds)) * factor
    scales = np.array([rate * weight for _, weight in pairs], np.float32)
    if not np.isfinite(scales).all():
        raise ValueError("an update's weights and alpha must be finite")
    return [seed for seed, _ in pairs], scales
