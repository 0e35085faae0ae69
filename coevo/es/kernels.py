"""The compiled loops of the evolution strategy: noise, and sums of noise into weights.

They share one file because Numba keys a cached function on the file that holds it: a loop that
inlined `fill` from elsewhere would survive a change to it. Every loop does float32 arithmetic in a
fixed order, one element at a time, without ``fastmath``: the result is the same for any number of
threads, and no multiplication is fused with an addition.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numba import get_num_threads, prange, set_num_threads

from coevo.compiled import compiled

LANES = 8  # normals per Philox block: four 32-bit words, two halves each
CHUNK_BLOCKS = 128  # blocks per task of a thread; small enough for the L1 cache
CHUNK = CHUNK_BLOCKS * LANES  # elements per task

_M0, _M1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_W0, _W1 = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)
_LOW32 = np.uint64(0xFFFFFFFF)
_32 = np.uint64(32)
_LOW16 = np.uint32(0xFFFF)
_16 = np.uint32(16)
_COLUMNS = 1024  # columns of a matrix summed at a time, so that their sum stays in the L1 cache
_WORK = 1 << 19  # elements, a millisecond or so, that are worth another thread


@contextmanager
def threads(elements: int) -> Iterator[None]:
    """Use no more of Numba's threads than ``elements`` of noise or of a sum are worth.

    Waiting for a second thread on a busy machine costs more than many small jobs take.
    """
    available = get_num_threads()
    set_num_threads(max(1, min(available, elements // _WORK)))
    try:
        yield
    finally:
        set_num_threads(available)


@compiled(inline="always")
def fill(key, origin, table, words, noise):  # type: ignore[no-untyped-def]
    """Write the normals of the chunk from element ``origin`` (a multiple of CHUNK) into ``noise``.

    ``words`` (uint32[4, CHUNK_BLOCKS]) is scratch. Always a whole chunk: with constant trip counts
    the compiler vectorises Philox over blocks, and leaves the look-ups to scalar loads, which beat
    the hardware's gathers.
    """
    first = np.uint64(origin // LANES)
    for j in range(CHUNK_BLOCKS):
        k0 = key & _LOW32
        k1 = key >> _32
        block = first + np.uint64(j)
        c0 = block & _LOW32
        c1 = block >> _32
        c2 = np.uint64(0)
        c3 = np.uint64(0)
        for _ in range(10):
            p0 = c0 * _M0
            p1 = c2 * _M1
            c0 = (p1 >> _32) ^ c1 ^ k0
            c2 = (p0 >> _32) ^ c3 ^ k1
            c1 = p1 & _LOW32
            c3 = p0 & _LOW32
            k0 = (k0 + _W0) & _LOW32
            k1 = (k1 + _W1) & _LOW32
        words[0, j] = c0
        words[1, j] = c1
        words[2, j] = c2
        words[3, j] = c3
    for j in range(CHUNK_BLOCKS):
        for lane in range(4):
            word = words[lane, j]
            noise[8 * j + 2 * lane] = table[word & _LOW16]
            noise[8 * j + 2 * lane + 1] = table[word >> _16]


@compiled(inline="always")
def to_bf16(bits):  # type: ignore[no-untyped-def]
    """Round the bits of a finite float32 to the nearest bf16, ties to even: 0 … 65535."""
    return (bits + np.uint32(0x7FFF) + ((bits >> _16) & np.uint32(1))) >> _16


@compiled(parallel=True)
def gaussian_rows(keys, start, table, out):  # type: ignore[no-untyped-def]
    """Row g of ``out`` (float32[G, count]) gets the normals start … start + count - 1 of key g."""
    rows, count = out.shape
    first = start // CHUNK
    chunks = (start + count + CHUNK - 1) // CHUNK - first
    for task in prange(rows * chunks):
        row = task // chunks
        origin = (first + task % chunks) * CHUNK
        low, high = max(start, origin), min(start + count, origin + CHUNK)
        here = out[row, low - start : high - start]
        words = np.empty((4, CHUNK_BLOCKS), np.uint32)
        if high - low == CHUNK:
            fill(keys[row], origin, table, words, here)
        else:
            noise = np.empty(CHUNK, np.float32)
            fill(keys[row], origin, table, words, noise)
            here[:] = noise[low - origin : high - origin]


@compiled(inline="always")
def noise_sum(keys, scales, origin, table, words, noise, total):  # type: ignore[no-untyped-def]
    """``total`` gets Σ scale_g ε_g of the chunk from element ``origin``, in the order of g."""
    for i in range(CHUNK):
        total[i] = np.float32(0)
    for g in range(keys.size):
        fill(keys[g], origin, table, words, noise)
        scale = scales[g]
        for i in range(CHUNK):
            total[i] += scale * noise[i]


@compiled(inline="always")
def add_bf16(weight, residual, change, bits):  # type: ignore[no-untyped-def]
    """Add ``change`` to the float32 masters of a run of bf16 weights, and split the sums again.

    A master is (bf16 bits << 16) + residual, the bf16 its rounding. Exactly halfway above an even
    bf16 the residual would be +32768; it is stored as 32767, one float32 ulp less. ``bits``
    (uint32) is scratch.
    """
    count = weight.size
    for i in range(count):
        bits[i] = (np.int64(weight[i]) << np.int64(16)) + np.int64(residual[i])
    master = bits.view(np.float32)
    for i in range(count):
        master[i] += change[i]
    for i in range(count):
        rounded = np.int64(to_bf16(bits[i]))
        weight[i] = rounded
        residual[i] = min(np.int64(bits[i]) - (rounded << np.int64(16)), np.int64(32767))


@compiled(parallel=True)
def add_full_bf16(weight, residual, start, keys, scales, table):  # type: ignore[no-untyped-def]
    """weight (uint16[count], elements ``start`` … of the parameter) += Σ scale_g ε_g."""
    count = weight.size
    first = start // CHUNK
    for task in prange((start + count + CHUNK - 1) // CHUNK - first):
        origin = (first + task) * CHUNK
        low, high = max(start, origin), min(start + count, origin + CHUNK)
        words = np.empty((4, CHUNK_BLOCKS), np.uint32)
        noise = np.empty(CHUNK, np.float32)
        total = np.empty(CHUNK, np.float32)
        noise_sum(keys, scales, origin, table, words, noise, total)
        here = slice(low - start, high - start)
        bits = np.empty(CHUNK, np.uint32)
        add_bf16(weight[here], residual[here], total[low - origin : high - origin], bits)


@compiled(parallel=True)
def add_full_float32(weight, start, keys, scales, table):  # type: ignore[no-untyped-def]
    """weight (float32[count], elements ``start`` … of the parameter) += Σ scale_g ε_g."""
    count = weight.size
    first = start // CHUNK
    for task in prange((start + count + CHUNK - 1) // CHUNK - first):
        origin = (first + task) * CHUNK
        low, high = max(start, origin), min(start + count, origin + CHUNK)
        words = np.empty((4, CHUNK_BLOCKS), np.uint32)
        noise = np.empty(CHUNK, np.float32)
        total = np.empty(CHUNK, np.float32)
        noise_sum(keys, scales, origin, table, words, noise, total)
        weight[low - start : high - start] += total[low - origin : high - origin]


@compiled(parallel=True)
def perturb_bf16(weight, start, keys, scales, table):  # type: ignore[no-untyped-def]
    """weight (uint16[count] of bf16 bits) becomes bf16(weight + Σ scale_g ε_g), in place."""
    count = weight.size
    first = start // CHUNK
    for task in prange((start + count + CHUNK - 1) // CHUNK - first):
        origin = (first + task) * CHUNK
        low, high = max(start, origin), min(start + count, origin + CHUNK)
        words = np.empty((4, CHUNK_BLOCKS), np.uint32)
        noise = np.empty(CHUNK, np.float32)
        total = np.empty(CHUNK, np.float32)
        noise_sum(keys, scales, origin, table, words, noise, total)
        here = weight[low - start : high - start]
        change = total[low - origin : high - origin]
        bits = np.empty(CHUNK, np.uint32)
        value = bits.view(np.float32)
        for i in range(here.size):
            bits[i] = np.uint32(here[i]) << _16
        for i in range(here.size):
            value[i] += change[i]
        for i in range(here.size):
            here[i] = to_bf16(bits[i])


@compiled(inline="always")
def outer_sum(left, right, low, total):  # type: ignore[no-untyped-def]
    """``total`` (float32[n]) gets Σ_k left[k] right[k, low : low + n], in the order of k."""
    for j in range(total.size):
        total[j] = np.float32(0)
    for k in range(left.size):
        scale = left[k]
        row = right[k, low : low + total.size]  # contiguous, or it is not vectorised
        for j in range(total.size):
            total[j] += scale * row[j]


@compiled(parallel=True)
def add_lowrank_bf16(weight, residual, left, right):  # type: ignore[no-untyped-def]
    """weight (uint16[m, n]) += left (float32[m, k]) right (float32[k, n])."""
    rows, columns = weight.shape
    for row in prange(rows):
        buffer = np.empty(_COLUMNS, np.float32)
        bits = np.empty(_COLUMNS, np.uint32)
        for low in range(0, columns, _COLUMNS):
            high = min(low + _COLUMNS, columns)
            total = buffer[: high - low]
            outer_sum(left[row], right, low, total)
            add_bf16(weight[row, low:high], residual[row, low:high], total, bits)


@compiled(parallel=True)
def add_lowrank_float32(weight, left, right):  # type: ignore[no-untyped-def]
    """weight (float32[m, n]) += left (float32[m, k]) right (float32[k, n])."""
    rows, columns = weight.shape
    for row in prange(rows):
        buffer = np.empty(_COLUMNS, np.float32)
        for low in range(0, columns, _COLUMNS):
            high = min(low + _COLUMNS, columns)
            total = buffer[: high - low]
            outer_sum(left[row], right, low, total)
            weight[row, low:high] += total
