from __future__ import annotations

import doctest
import hashlib
from itertools import pairwise
from statistics import NormalDist

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coevo.es import noise
from coevo.es.kernels import CHUNK
from coevo.es.noise import (
    batched_lowrank_factors,
    gaussian,
    gaussian_reference,
    lowrank_factors,
    philox4x32,
    table,
)


@pytest.mark.parametrize(
    ("counter", "key", "words"),
    [  # the known answers of Random123
        ("00000000 00000000 00000000 00000000", 0, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ("ffffffff ffffffff ffffffff ffffffff", 2**64 - 1, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        (
            "243f6a88 85a308d3 13198a2e 03707344",
            0x299F31D0A4093822,
            "d16cfe09 94fdcceb 5001e420 24126ea1",
        ),
    ],
)
def test_the_oracle_is_philox4x32_10(counter: str, key: int, words: str) -> None:
    state = [np.array([int(word, 16)], np.uint64) for word in counter.split()]
    assert " ".join(f"{int(word[0]):08x}" for word in philox4x32(state, key)) == words


def test_golden_vectors() -> None:
    assert noise.key(0, "w") == 0xE373F0D748B78131
    assert noise.key(2**63 - 1, "model.embed_tokens.weight") == 0xCFA66936D5B472F6
    first = gaussian(0, "w", 0, 8).view(np.uint32)
    assert " ".join(f"{bits:08x}" for bits in first) == (
        "3e26bdb0 3fcb177d bf5dff6a 3f9fba54 bf5b98ee bf1a8d35 3d80ab08 3ee9cc92"
    )
    # Across the end of the 32-bit element index, and of the counter's first word.
    far = gaussian(2**63 - 1, "model.embed_tokens.weight", 2**35 - 3, 6).view(np.uint32)
    assert " ".join(f"{bits:08x}" for bits in far) == (
        "3f1dff10 bdc73d84 3dea9c2d bf916a76 bf8e4dd1 3e956893"
    )
    many = gaussian(1, "w", 0, 100_000).astype("<f4").tobytes()
    assert hashlib.sha256(many).hexdigest() == (
        "93cdaf24149108d0682a457286840d55edaf0920ae578d5b1ddc98eaa1c4e844"
    )
    a, b = lowrank_factors(5, "m", (2, 3), 2)
    assert a.ravel()[:2].tolist() == pytest.approx([0.55459166, -0.84680253], abs=1e-8)
    assert b.ravel()[-2:].tolist() == pytest.approx([0.70239526, -1.8557504], abs=1e-7)


@settings(max_examples=60)
@given(
    st.integers(0, 2**64 - 1),
    st.text(min_size=1, max_size=30),
    st.one_of(st.integers(0, 5 * CHUNK), st.integers(0, 2**45)),
    st.integers(0, 3 * CHUNK),
)
def test_kernel_equals_oracle(seed: int, name: str, start: int, count: int) -> None:
    assert np.array_equal(
        gaussian(seed, name, start, count), gaussian_reference(seed, name, start, count)
    )


@settings(max_examples=30)
@given(st.lists(st.integers(0, 6 * CHUNK), max_size=5))
def test_independent_of_chunks(cuts: list[int]) -> None:
    whole = gaussian(3, "w", 0, 6 * CHUNK)
    edges = [0, *sorted(cuts), 6 * CHUNK]
    parts = [gaussian(3, "w", a, b - a) for a, b in pairwise(edges)]
    assert np.array_equal(np.concatenate(parts), whole)


def test_independent_of_threads() -> None:
    threads = numba.get_num_threads()
    whole = gaussian(3, "w", 5, 3000 * CHUNK)
    try:
        numba.set_num_threads(1)
        assert np.array_equal(gaussian(3, "w", 5, 3000 * CHUNK), whole)
    finally:
        numba.set_num_threads(threads)


def test_the_table_is_a_unit_gaussian() -> None:
    levels = table().astype(np.float64)
    exact = [NormalDist().inv_cdf((i + 0.5) / 65536) for i in range(65536)]
    assert np.array_equal(levels, -levels[::-1])
    assert (np.diff(levels) > 0).all()
    assert levels.mean() == 0
    assert (levels**2).mean() == pytest.approx(1, abs=1e-8)
    assert (levels**4).mean() == pytest.approx(3, abs=2e-3)
    assert np.abs(levels / exact - 1).max() < 5e-5
    with pytest.raises(ValueError, match="read-only"):
        table()[0] = 0


def test_a_foreign_table_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noise, "TABLE_DIGEST", "0" * 64)
    with pytest.raises(RuntimeError, match="noise spec v1"):
        table.__wrapped__()


COUNT = 1 << 22


@pytest.fixture(scope="module")
def sample() -> np.ndarray:
    return gaussian(11, "model.layers.0.mlp.up_proj.weight", 0, COUNT).astype(np.float64)


def test_moments(sample: np.ndarray) -> None:
    error = COUNT**-0.5
    assert abs(sample.mean()) < 4 * error
    assert abs((sample**2).mean() - 1) < 4 * np.sqrt(2) * error
    assert abs((sample**3).mean()) < 4 * np.sqrt(15) * error
    assert abs((sample**4).mean() - 3) < 4 * np.sqrt(96) * error + 2e-3


@pytest.mark.parametrize("threshold", [1.0, 2.0, 3.0, 4.0])
def test_tails(sample: np.ndarray, threshold: float) -> None:
    share = 2 * NormalDist().cdf(-threshold)
    for tail in (sample > threshold, sample < -threshold):
        expected = COUNT * share / 2
        assert abs(tail.sum() - expected) < 4 * np.sqrt(expected) + COUNT / 65536


@pytest.mark.parametrize("lag", [1, 2, 3, 4, 7, 8, 9, 16, 64, 896, CHUNK, 4864])
def test_autocorrelation(sample: np.ndarray, lag: int) -> None:
    assert abs((sample[lag:] * sample[:-lag]).mean()) < 4.5 * COUNT**-0.5


def test_streams_are_uncorrelated() -> None:
    count = 1 << 18
    names = ["w", "w:A", "w:B", "x", "model.layers.1.w", "model.layers.10.w"]
    streams = [gaussian(seed, "w", 0, count) for seed in (*range(12), 2**32, 2**62, 2**63 - 1)]
    streams += [gaussian(0, name, 0, count) for name in names[1:]]
    correlation = np.corrcoef(np.array(streams, np.float64))
    np.fill_diagonal(correlation, 0)
    assert np.abs(correlation).max() < 5 * count**-0.5


def test_lowrank_factors_are_streams_of_their_own() -> None:
    a, b = lowrank_factors(9, "w", (5, 7), 3)
    assert a.shape == (5, 3)
    assert b.shape == (7, 3)
    assert np.array_equal(a.ravel(), gaussian(9, "w:A", 0, 15))
    assert np.array_equal(b.ravel(), gaussian(9, "w:B", 0, 21))
    many_a, many_b = batched_lowrank_factors((8, 9), "w", (5, 7), 3)
    assert np.array_equal(many_a[1], a)
    assert np.array_equal(many_b[1], b)
    assert not np.array_equal(many_a[0], a)


def test_out_is_filled() -> None:
    out = np.full(5, np.nan, np.float32)
    assert gaussian(1, "w", 3, 5, out) is out
    assert np.array_equal(out, gaussian(1, "w", 3, 5))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: gaussian(-1, "w", 0, 1), "seed"),
        (lambda: gaussian(1 << 64, "w", 0, 1), "seed"),
        (lambda: gaussian(0, "w", -1, 1), "start"),
        (lambda: gaussian(0, "w", 0, 2, np.empty(3, np.float32)), "out must be"),
        (lambda: gaussian(0, "w", 0, 2, np.empty(2)), "out must be"),
        (lambda: gaussian(0, "w", 0, 2, np.empty(4, np.float32)[::2]), "out must be"),
        (lambda: lowrank_factors(0, "w", (2, 2), 0), "rank"),
    ],
)
def test_errors(call, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=message):
        call()


def test_docstrings() -> None:
    assert doctest.testmod(noise).failed == 0
