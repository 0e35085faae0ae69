"""Noise spec v1: the random numbers of every direction, and how to make them again anywhere.

A direction is a 63-bit seed. Its noise for a parameter depends on the seed, on the parameter's
canonical Hugging Face name (``model.layers.0.mlp.up_proj.weight``) and on the element's index in
the whole, unsharded, row-major tensor; not on the device, the thread count, the chunk size or the
shard. To re-implement it:

1. *Key.* 64 bits: BLAKE2b with ``digest_size=8`` and ``person=b"coevo-noise-v1"`` over the seed as
   8 bytes, little-endian, followed by the name in UTF-8; the digest read as a little-endian
   integer. The key's low 32 bits are k0, its high 32 bits k1.
2. *Block.* Element e is lane e mod 8 of block b = ⌊e / 8⌋. Philox4x32-10 (Salmon et al. 2011) under
   (k0, k1) maps the counter (b mod 2³², ⌊b / 2³²⌋, 0, 0) to four 32-bit words w0 … w3.
3. *Level.* Lane l takes word w[⌊l / 2⌋]: its low 16 bits if l is even, its high 16 bits if odd.
   These 16 bits, as an integer i, select level i of a table.
4. *Table.* 2¹⁶ equiprobable levels: xᵢ = Φ⁻¹((i + ½) / 2¹⁶) for i ≥ 2¹⁵, divided by the root mean
   square of all levels, rounded to float32; level 2¹⁶ - 1 - i is minus level i. Mean 0 and variance
   1 (to 1e-8); the largest level is 4.32. SHA-256 of its little-endian bytes: `TABLE_DIGEST`.

Low-rank directions: E = A Bᵀ / √r for a matrix of shape (m, n). A, of shape (m, r), is the noise of
the name with ``:A`` appended, B, (n, r), that with ``:B``, both row-major.

Table look-up has no transcendental function in the loop, so it is exact everywhere, and fast.

>>> gaussian(7, "model.norm.weight", 1000, 3)
array([ 0.547513  , -0.44808033,  0.3802663 ], dtype=float32)
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from functools import cache
from statistics import NormalDist

import numpy as np

NOISE_VERSION = 1
LEVELS = 1 << 16
LANES = 8
TABLE_DIGEST = "8babbcaf96568f10165a1eab530c0e5c92d04de96761b6dbb3dadfa94baba37f"


@cache
def table() -> np.ndarray:
    """The 2¹⁶ levels of a unit Gaussian, ascending: float32[65536], read-only.

    Raises RuntimeError if this platform computes another table: its noise would be another's.
    """
    inverse = NormalDist().inv_cdf
    half = [inverse((i + 0.5) / LEVELS) for i in range(LEVELS // 2, LEVELS)]
    scale = math.sqrt(math.fsum(x * x for x in half) / len(half))
    upper = np.array([x / scale for x in half]).astype("<f4")
    levels = np.concatenate([-upper[::-1], upper])
    digest = hashlib.sha256(levels.tobytes()).hexdigest()
    if digest != TABLE_DIGEST:
        raise RuntimeError(
            f"noise spec v{NOISE_VERSION} wants the Gaussian table {TABLE_DIGEST[:12]}, "
            f"this Python computes {digest[:12]}: use a build with an accurate math.log"
        )
    levels = levels.astype(np.float32, copy=False)
    levels.flags.writeable = False
    return levels


def key(seed: int, name: str) -> int:
    """The 64-bit Philox key of a direction's seed (0 … 2⁶⁴ - 1) and a parameter's name."""
    if not 0 <= seed < 1 << 64:
        raise ValueError(f"a direction's seed must be in 0 … 2**64 - 1, got {seed}")
    data = seed.to_bytes(8, "little") + name.encode()
    digest = hashlib.blake2b(data, digest_size=8, person=b"coevo-noise-v1").digest()
    return int.from_bytes(digest, "little")


def keys(seeds: Sequence[int], name: str) -> np.ndarray:
    """The keys of several directions for one parameter: uint64[len(seeds)]."""
    return np.array([key(seed, name) for seed in seeds], dtype=np.uint64)


def gaussian(
    seed: int, name: str, start: int, count: int, out: np.ndarray | None = None
) -> np.ndarray:
    """Elements ``start`` … ``start + count - 1`` of a direction's noise: float32[count].

    ``out``, if given, is a C-contiguous float32[count] that is filled and returned.
    """
    _check_range(start, count)
    if out is None:
        out = np.empty(count, np.float32)
    elif out.shape != (count,) or out.dtype != np.float32 or not out.flags.c_contiguous:
        raise ValueError(
            f"out must be a C-contiguous float32 array of shape ({count},), "
            f"got {out.dtype} of shape {out.shape}"
        )
    _fill(keys((seed,), name), start, out[None])
    return out


def lowrank_factors(
    seed: int, name: str, shape: tuple[int, int], rank: int
) -> tuple[np.ndarray, np.ndarray]:
    """A (float32[m, rank]) and B (float32[n, rank]) of a direction E = A Bᵀ/√rank for a matrix."""
    a, b = batched_lowrank_factors((seed,), name, shape, rank)
    return a[0], b[0]


def batched_lowrank_factors(
    seeds: Sequence[int], name: str, shape: tuple[int, int], rank: int
) -> tuple[np.ndarray, np.ndarray]:
    """`lowrank_factors` of G directions at once: A float32[G, m, rank], B float32[G, n, rank]."""
    if rank < 1:
        raise ValueError(f"rank must be at least 1, got {rank}")
    factors = []
    for side, length in zip("AB", shape, strict=True):
        out = np.empty((len(seeds), length * rank), np.float32)
        _fill(keys(seeds, f"{name}:{side}"), 0, out)
        factors.append(out.reshape(len(seeds), length, rank))
    return factors[0], factors[1]


def gaussian_reference(seed: int, name: str, start: int, count: int) -> np.ndarray:
    """`gaussian` in plain NumPy, line by line the specification: the oracle of the other ones."""
    _check_range(start, count)
    element = np.arange(start, start + count, dtype=np.uint64)
    block, lane = element // np.uint64(LANES), element % np.uint64(LANES)
    zero = np.zeros_like(block)
    words = philox4x32((block & _LOW32, block >> _32, zero, zero), key(seed, name))
    word = np.choose((lane // np.uint64(2)).astype(np.intp), words)
    return table()[(word >> (lane % np.uint64(2) * np.uint64(16))) & np.uint64(0xFFFF)]


def philox4x32(counter: Sequence[np.ndarray], key: int) -> tuple[np.ndarray, ...]:
    """Philox4x32-10 in plain NumPy: four words (uint64 arrays below 2³²) for a 64-bit key."""
    c0, c1, c2, c3 = counter
    k0, k1 = np.uint64(key & 0xFFFFFFFF), np.uint64(key >> 32)
    for _ in range(10):
        p0, p1 = c0 * np.uint64(0xD2511F53), c2 * np.uint64(0xCD9E8D57)
        c0, c1, c2, c3 = (p1 >> _32) ^ c1 ^ k0, p1 & _LOW32, (p0 >> _32) ^ c3 ^ k1, p0 & _LOW32
        k0, k1 = (k0 + np.uint64(0x9E3779B9)) & _LOW32, (k1 + np.uint64(0xBB67AE85)) & _LOW32
    return c0, c1, c2, c3


_LOW32, _32 = np.uint64(0xFFFFFFFF), np.uint64(32)


def _fill(row_keys: np.ndarray, start: int, out: np.ndarray) -> None:
    from coevo.es.kernels import gaussian_rows, threads  # Numba takes a second to import

    if out.size:
        with threads(out.size):
            gaussian_rows(row_keys, start, table(), out)


def _check_range(start: int, count: int) -> None:
    if start < 0 or count < 0:
        raise ValueError(f"start and count must not be negative, got {start} and {count}")
