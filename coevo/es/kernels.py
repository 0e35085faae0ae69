"""The compiled loops of the evolution strategy: noise, and sums of noise into weights.

They share one file because Numba keys a cached function on the file that holds it: a loop that
inlined `fill` from elsewhere would survive a change to it. Every loop does float32 arithmetic in a
fixed order, one element at a time, without ``fastmath``: the result is the same for any number of
threads, and no multiplication is fused with an addition.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit, prange

LANES = 8  # normals per Philox block: four 32-bit words, two halves each
CHUNK_BLOCKS = 256  # blocks per task of a thread; small enough for the L1 cache
CHUNK = CHUNK_BLOCKS * LANES  # elements per task

_M0, _M1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_W0, _W1 = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)
_LOW32 = np.uint64(0xFFFFFFFF)
_32 = np.uint64(32)
_LOW16 = np.uint32(0xFFFF)
_16 = np.uint32(16)
_COLUMNS = 1024  # columns of a matrix summed at a time, so that the sum stays in the L1 cache


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """``numba.njit`` with its cache, or without where there is nowhere at all to write one."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        try:
            return njit(cache=True, **options)(function)
        except RuntimeError as error:  # neither the package nor the user's cache is writable
            if "no locator available" not in str(error):
                raise
            return njit(**options)(function)

    return decorate


@compiled(inline="always")
def fill(key, block, blocks, table, words, noise):  # type: ignore[no-untyped-def]
    """Write the normals of ``blocks`` blocks from ``block`` on into ``noise``.

    ``words`` (uint32[4, CHUNK_BLOCKS]) is scratch. The Philox loop is vectorised over blocks; the
    look-ups are a loop of their own because scalar loads beat the hardware's gathers here.
    """
    for j in range(blocks):
        k0 = key & _LOW32
        k1 = key >> _32
        counter = np.uint64(block + j)
        c0 = counter & _LOW32
        c1 = counter >> _32
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
    for j in range(blocks):
        for lane in range(4):
            word = words[lane, j]
            noise[8 * j + 2 * lane] = table[word & _LOW16]
            noise[8 * j + 2 * lane + 1] = table[word >> _16]


@compiled(inline="always")
def to_bf16(bits):  # type: ignore[no-untyped-def]
    """Round float32 bits to the nearest bf16, ties to even (finite input), as uint32 0 … 65535."""
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
        low = max(start, origin) // LANES * LANES
        high = min(start + count, origin + CHUNK)
        words = np.empty((4, CHUNK_BLOCKS), np.uint32)
        noise = np.empty(CHUNK, np.float32)
        fill(keys[row], low // LANES, (high - low + LANES - 1) // LANES, table, words, noise)
        begin = max(start, low)
        for i in range(begin, high):
            out[row, i - start] = noise[i - low]


@compiled(inline="always")
def noise_sum(keys, scales, low, high, table, words, noise, total):  # type: ignore[no-untyped-def]
    """``total`` gets Σ scale_g ε_g of the elements low … high - 1, in the order of g.

    ``low`` is a multiple of LANES.
    """
    count = high - low
    blocks = (count + LANES - 1) // LANES
    for i in range(count):
        total[i] = np.float32(0)
    for g in range(keys.size):
        fill(keys[g], low // LANES, blocks, table, words, noise)
        scale = scales[g]
        for i in range(count):
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
        begin, high = max(start, origin), min(start + count, origin + CHUNK)
        low = begin // LANES * LANES
        words = np.empty((4, CHUNK_BLOCKS), np.uint32)
        noise = np.empty(CHUNK, np.float32)
        total = np.empty(CHUNK, np.float32)
        noise_sum(keys, scales, low, high, table, words, noise, total)
        here = slice(begin - start, high - start)
        bits = np.empty(CHUNK, np.uint32)
        add_bf16(weight[here], residual[here], total[begin - low : high - low], bits)


@compiled(parallel=True)
def add_full_float32(weight, start, keys, scales, table):  # type: ignore[no-untyped-def]
    """weight (float32[count], elements ``start`` … of the parameter) += Σ scale_g ε_g."""
    count = weight.size
    first = start // CHUNK
    for task in prange((start + count + CHUNK - 1) // CHUNK - first):
        origin = (first + task) * CHUNK
        begin, high = max(start, origin), min(start + count, origin + CHUNK)
        low = begin // LANES * LANES
        words = np.empty((4, CHUNK_BLOCKS), np.uint32)
        noise = np.empty(CHUNK, np.float32)
        total = np.empty(CHUNK, np.float32)
        noise_sum(keys, scales, low, high, table, words, noise, total)
        for i in range(begin, high):
            weight[i - start] += total[i - low]


@compiled(parallel=True)
def perturb_bf16(weight, start, key, sigma, table):  # type: ignore[no-untyped-def]
    """weight (uint16[count] of bf16 bits) becomes bf16(weight + sigma ε), in place."""
    count = weight.size
    first = start // CHUNK
    for task in prange((start + count + CHUNK - 1) // CHUNK - first):
        origin = (first + task) * CHUNK
        begin, high = max(start, origin), min(start + count, origin + CHUNK)
        low = begin // LANES * LANES
        words = np.empty((4, CHUNK_BLOCKS), np.uint32)
        noise = np.empty(CHUNK, np.float32)
        fill(key, low // LANES, (high - low + LANES - 1) // LANES, table, words, noise)
        bits = np.empty(CHUNK, np.uint32)
        for i in range(high - begin):
            bits[i] = np.uint32(weight[begin - start + i]) << _16
        value = bits.view(np.float32)
        for i in range(high - begin):
            value[i] += sigma * noise[begin - low + i]
        for i in range(high - begin):
            weight[begin - start + i] = to_bf16(bits[i])


@compiled(inline="always")
def outer_sum(left, right, column, count, total):  # type: ignore[no-untyped-def]
    """``total`` gets Σ_k left[k] right[k, column …], in the order of k."""
    for j in range(count):
        total[j] = np.float32(0)
    for k in range(left.size):
        scale = left[k]
        for j in range(count):
            total[j] += scale * right[k, column + j]


@compiled(parallel=True)
def add_lowrank_bf16(weight, residual, left, right):  # type: ignore[no-untyped-def]
    """weight (uint16[m, n]) += left (float32[m, k]) right (float32[k, n])."""
    rows, columns = weight.shape
    for row in prange(rows):
        total = np.empty(_COLUMNS, np.float32)
        bits = np.empty(_COLUMNS, np.uint32)
        for column in range(0, columns, _COLUMNS):
            count = min(_COLUMNS, columns - column)
            outer_sum(left[row], right, column, count, total)
            here = slice(column, column + count)
            add_bf16(weight[row, here], residual[row, here], total[:count], bits)


@compiled(parallel=True)
def add_lowrank_float32(weight, left, right):  # type: ignore[no-untyped-def]
    """weight (float32[m, n]) += left (float32[m, k]) right (float32[k, n])."""
    rows, columns = weight.shape
    for row in prange(rows):
        total = np.empty(_COLUMNS, np.float32)
        for column in range(0, columns, _COLUMNS):
            count = min(_COLUMNS, columns - column)
            outer_sum(left[row], right, column, count, total)
            for j in range(count):
                weight[row, column + j] += total[j]
