from __future__ import annotations

from collections.abc import Callable

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coevo.es.directions import Update
from coevo.es.kernels import CHUNK
from coevo.es.noise import (
    batched_lowrank_factors,
    gaussian,
    gaussian_reference,
    lowrank_factors,
)
from coevo.es.update import apply_full, apply_lowrank, master, perturb_full
from tests.es.bf16 import added, rounded, weights, widened

Apply = Callable[[np.ndarray, np.ndarray | None, Update, str], None]
APPLY: dict[str, Apply] = {"lowrank": apply_lowrank, "full": apply_full}
SHAPE = (90, 1111)


def update(kind: str, g: int = 8, rank: int = 2, alpha: float = 5e-4, seed: int = 0) -> Update:
    rewards = np.random.default_rng(seed).standard_normal(g)
    seeds = tuple(range(100 * seed, 100 * seed + g))
    return Update(kind, seeds, tuple(rewards), alpha, 1e-3, rank)  # type: ignore[arg-type]


def intended(step: Update, shape: tuple[int, int], name: str) -> np.ndarray:
    """The step in float64, straight from the formula."""
    scales = np.array(step.weights) * step.alpha / len(step.seeds)
    if step.kind == "lowrank":
        a, b = batched_lowrank_factors(step.seeds, name, shape, step.rank)
        return np.einsum("g,gmr,gnr->mn", scales / np.sqrt(step.rank), a, b, dtype=np.float64)
    noise = [gaussian_reference(seed, name, 0, shape[0] * shape[1]) for seed in step.seeds]
    return np.einsum("g,gi->i", scales, noise, dtype=np.float64).reshape(shape)


@pytest.mark.parametrize("kind", APPLY)
def test_equals_the_formula(kind: str) -> None:
    step = update(kind)
    start = widened(weights(SHAPE))
    moved = start.copy()
    APPLY[kind](moved, None, step, "w")
    assert np.abs((moved - start) - intended(step, SHAPE, "w")).max() < 1e-8

    bits, residual = weights(SHAPE), np.zeros(SHAPE, np.int16)
    APPLY[kind](bits, residual, step, "w")
    ulps = master(bits, residual).view(np.int32) - moved.view(np.int32)
    assert np.abs(ulps).max() <= 1  # 1 only halfway between two bf16
    assert (ulps != 0).mean() < 1e-3
    assert np.array_equal(bits, rounded(master(bits, residual)))


@pytest.mark.parametrize("kind", APPLY)
def test_independent_of_threads(kind: str) -> None:
    results = []
    threads = numba.get_num_threads()
    try:
        for count in (1, threads):
            numba.set_num_threads(count)
            bits, residual = weights(SHAPE), np.zeros(SHAPE, np.int16)
            APPLY[kind](bits, residual, update(kind, g=16), "w")
            results.append((bits, residual))
    finally:
        numba.set_num_threads(threads)
    assert np.array_equal(results[0][0], results[1][0])
    assert np.array_equal(results[0][1], results[1][1])


@pytest.mark.parametrize("dtype", [np.uint16, np.float32])
def test_a_shard_gets_its_part(dtype: type) -> None:
    step = update("full")
    whole = weights((5 * CHUNK + 77,))
    whole = whole if dtype is np.uint16 else widened(whole)
    residual = np.zeros(whole.shape, np.int16) if dtype is np.uint16 else None
    cut = 2 * CHUNK + 13
    shards = [whole[:cut].copy(), whole[cut:].copy()]
    rests = [None, None] if residual is None else [residual[:cut].copy(), residual[cut:].copy()]
    apply_full(whole, residual, step, "w")
    apply_full(shards[0], rests[0], step, "w")
    apply_full(shards[1], rests[1], step, "w", start=cut)
    assert np.array_equal(np.concatenate(shards), whole)

    moved = whole.copy()
    perturb_full(moved, 3, "w", 1e-3)
    perturb_full(shards[1], 3, "w", 1e-3, start=cut)
    assert np.array_equal(moved[cut:], shards[1])


def master_bits(bits: int) -> tuple[np.ndarray, np.ndarray]:
    """Have the kernel itself bring a weight of 0 to a float32 of these bits."""
    weight, residual = np.zeros((1, 1), np.uint16), np.zeros((1, 1), np.int16)
    target = np.array([bits], np.uint32).view(np.float32)[0]
    a, b = lowrank_factors(0, "w", (1, 1), 1)
    product = np.float64(a[0, 0]) * np.float64(b[0, 0])
    step = Update("lowrank", (0,), (float(target) / product,), 1.0, 1.0)
    apply_lowrank(weight, residual, step, "w")
    return weight, residual


@settings(max_examples=200)
@given(st.floats(-(2.0**99), 2.0**99, width=32), st.booleans())
def test_bits_and_residual_are_a_float32(value: float, tie: bool) -> None:
    bits = int(np.float32(value).view(np.uint32))
    if tie:
        bits = bits & 0xFFFF0000 | 0x8000
    weight, residual = master_bits(bits)
    kept = master(weight, residual)
    assert np.array_equal(weight, rounded(kept))
    assert kept[0, 0] == pytest.approx(float(np.uint32(bits).view(np.float32)), rel=1e-6)


@pytest.mark.parametrize("kind", APPLY)
def test_200_steps_are_kept(kind: str) -> None:
    shape = (32, 96)
    bits, residual = weights(shape), np.zeros(shape, np.int16)
    plain = bits.copy()
    before = widened(bits)
    total = np.zeros(shape)
    unmoved = []
    for i in range(200):
        step = update(kind, g=16, rank=1, seed=i)
        change = intended(step, shape, "w")
        total += change
        APPLY[kind](bits, residual, step, "w")
        moved = added(plain, change)
        unmoved.append((moved == plain).mean())
        plain = moved

    def kept(after: np.ndarray) -> tuple[float, float]:
        """Projection on the intended sum, and distance from it relative to its length."""
        change = after.astype(np.float64) - before
        error = np.linalg.norm(change - total) / np.linalg.norm(total)
        return float((change * total).sum() / (total**2).sum()), float(error)

    projection, error = kept(master(bits, residual))
    assert abs(projection - 1) < 1e-5
    assert error < 1e-4
    projection, error = kept(widened(bits))  # what the model computes with
    assert abs(projection - 1) < 0.005
    assert error < 0.06
    assert np.mean(unmoved) > 0.2  # the published sum: a fifth or more of the weights stand still,
    assert kept(widened(plain))[1] > 5 * error  # and rounding adds up to another model


def test_small_steps_in_one_direction_add_up() -> None:
    """Steps of a tenth of a bf16 ulp: in plain bf16 most of the way is lost."""
    shape = (64, 96)
    bits, residual = weights(shape), np.zeros(shape, np.int16)
    plain, before = bits.copy(), widened(bits)
    step = update("full", g=32, alpha=5e-5)
    change = intended(step, shape, "w")
    for _ in range(200):
        apply_full(bits, residual, step, "w")
        plain = added(plain, change)

    def projection(after: np.ndarray) -> float:
        return float(((after - before) * change).sum() / (200 * (change**2).sum()))

    assert projection(widened(bits)) > 0.995
    assert projection(widened(plain)) < 0.8


def test_perturbing_in_place_and_restoring_from_a_copy() -> None:
    bits = weights(SHAPE)
    kept = bits.copy()
    for seed in range(20):
        perturb_full(bits, seed, "w", 1e-3)
        noise = gaussian(seed, "w", 0, bits.size).reshape(SHAPE)
        assert np.array_equal(bits, rounded(widened(kept) + np.float32(1e-3) * noise))
        bits[...] = kept
    assert np.array_equal(bits, weights(SHAPE))


@pytest.mark.parametrize("kind", APPLY)
def test_nothing_moves_without_a_step(kind: str) -> None:
    zero = Update(kind, (1, 2), (0.0, 0.0), 1e-3, 1e-3)  # type: ignore[arg-type]
    skipped = Update(kind, (1, 2), (1.0, 2.0), 1e-3, 1e-3, skipped="below quorum")  # type: ignore[arg-type]
    empty = Update(kind, (), (), 1e-3, 1e-3)  # type: ignore[arg-type]
    for step in (zero, skipped, empty):
        bits, residual = weights(SHAPE), np.zeros(SHAPE, np.int16)
        APPLY[kind](bits, residual, step, "w")
        assert np.array_equal(bits, weights(SHAPE))
        assert not residual.any()


def test_a_weight_of_zero_still_counts_in_the_mean() -> None:
    one = widened(weights(SHAPE))
    two = one.copy()
    apply_full(one, None, Update("full", (1,), (1.0,), 1e-3, 1e-3), "w")
    apply_full(two, None, Update("full", (1, 2), (2.0, 0.0), 1e-3, 1e-3), "w")
    assert np.array_equal(one, two)


@pytest.mark.parametrize("kind", APPLY)
def test_empty_arrays_are_left_alone(kind: str) -> None:
    APPLY[kind](np.empty((0, 5), np.uint16), np.empty((0, 5), np.int16), update(kind), "w")


FULL, LOWRANK = update("full"), update("lowrank")
BITS, REST = np.zeros((4, 4), np.uint16), np.zeros((4, 4), np.int16)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: apply_full(BITS, REST, LOWRANK, "w"), "needs apply_lowrank"),
        (lambda: apply_lowrank(BITS, REST, FULL, "w"), "needs apply_full"),
        (lambda: apply_lowrank(BITS[0], REST[0], LOWRANK, "w"), "for matrices"),
        (lambda: apply_full(BITS, None, FULL, "w"), "uint16"),
        (lambda: apply_full(BITS.astype(np.float16), None, FULL, "w"), "float16"),
        (lambda: apply_full(BITS, REST.astype(np.int32), FULL, "w"), "int32"),
        (lambda: apply_full(BITS.T[:2], REST.T[:2], FULL, "w"), "contiguous"),
        (lambda: apply_full(BITS, REST[:2], FULL, "w"), "residual has shape"),
        (lambda: perturb_full(BITS.astype(np.float64), 0, "w", 1e-3), "float64"),
        (lambda: perturb_full(BITS, 0, "w", float("nan")), "finite"),
        (lambda: apply_full(BITS, REST, Update("full", (1,), (), 1.0, 1.0), "w"), "0 weights"),
        (
            lambda: apply_full(BITS, REST, Update("full", (1,), (np.nan,), 1.0, 1.0), "w"),
            "finite",
        ),
    ],
)
def test_errors(call, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=message):
        call()
    assert not BITS.any()
