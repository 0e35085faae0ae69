"""What goes wrong in the published implementation, measured on it, and does not on ours.

Each test first shows the defect on a re-statement of the published rule (`published_*`), so that
it would fail on that rule, and then holds ours to the opposite.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch

from coevo.es.directions import Update
from coevo.es.kernels import CHUNK
from coevo.es.noise import gaussian
from coevo.es.shaping import SHAPINGS
from coevo.es.strategy import ESSettings, EvolutionStrategy
from coevo.es.update import apply_full, master, perturb_full
from tests.es.attempts import attempt
from tests.es.bf16 import added, weights, widened

SHAPE = (200, 300)
SIGMA, ALPHA = 1e-3, 5e-4


def published_zscore(rewards: list[float]) -> torch.Tensor:
    """In float32, with 1e-8 added to the deviation."""
    values = torch.tensor(rewards, dtype=torch.float32)
    return (values - values.mean()) / (values.std(unbiased=False) + 1e-8)


def noise(seed: int) -> np.ndarray:
    return gaussian(seed, "w", 0, SHAPE[0] * SHAPE[1]).reshape(SHAPE)


def test_1_equal_rewards_make_no_step() -> None:
    assert published_zscore([-7.12345] * 10).abs().min() > 0.9

    for name, shaping in SHAPINGS.items():
        es = EvolutionStrategy(ESSettings(shaping=name), 0, 5)
        attempts = [attempt(i, 7.12345, direction=seed) for i, seed in enumerate(es.ask(10).seeds)]
        assert not shaping(attempts, {}, "min").any()
        assert es.tell(attempts, {}, "min").skipped.startswith("zero spread")


def test_1_for_any_value_and_size() -> None:
    random = np.random.default_rng(0)
    struck = 0
    for value in random.uniform(1, 20, 300).round(5):
        count = int(random.integers(10, 31))
        struck += bool(published_zscore([-value] * count).abs().max() > 0.5)
        attempts = [attempt(i, float(value)) for i in range(count)]
        for shaping in SHAPINGS.values():
            assert not shaping(attempts, {}, "min").any()
    assert struck > 100


def test_2_directions_leave_no_trace() -> None:
    published, bits = weights(SHAPE), weights(SHAPE)
    kept = bits.copy()
    for seed in range(32):
        published = added(published, SIGMA * noise(seed))
        published = added(published, -SIGMA * noise(seed))
        perturb_full(bits, seed, "w", SIGMA)
        bits[...] = kept
    assert (published != kept).mean() > 0.15
    assert np.array_equal(bits, weights(SHAPE))


def test_3_updates_are_not_lost_to_rounding() -> None:
    rewards = np.random.default_rng(1).standard_normal(32)
    update = Update("full", tuple(range(32)), tuple(rewards), ALPHA, SIGMA)
    pairs = zip(update.seeds, update.weights, strict=True)
    change = sum(ALPHA / 32 * weight * noise(seed).astype(float) for seed, weight in pairs)
    start = weights(SHAPE)

    def cosine(after: np.ndarray) -> float:
        moved = after.astype(float) - widened(start)
        return float((moved * change).sum() / np.linalg.norm(moved) / np.linalg.norm(change))

    published = added(start, change)
    assert (published == start).mean() > 0.2
    assert cosine(widened(published)) < 0.98

    bits, residual = start.copy(), np.zeros(SHAPE, np.int16)
    apply_full(bits, residual, update, "w")
    moved = master(bits, residual)
    assert (moved == widened(start)).mean() < 1e-3
    assert cosine(moved) > 1 - 1e-7


def test_4_steps_end_when_sigma_does() -> None:
    """Late directions are one model: what their rewards differ by is luck."""
    random = np.random.default_rng(0)

    def lengths(settings: ESSettings) -> list[float]:
        """The length of each step, relative to the first, when all rewards are luck."""
        es, found = EvolutionStrategy(settings, 0, 50), []
        for _ in range(50):
            directions = es.ask(20)
            luck = random.standard_normal(20)
            attempts = [
                attempt(i, float(x), direction=seed)
                for i, (x, seed) in enumerate(zip(luck, directions.seeds, strict=True))
            ]
            update = es.tell(attempts, {}, "min")
            found.append(update.alpha * float(np.linalg.norm(update.weights)))
        return [length / found[0] for length in found]

    published = lengths(ESSettings.paper())
    assert published[-2] > 0.9  # σ is a thousandth of its start, the step is not
    assert published[-1] == 0  # σ is 0: even the `paper` settings make no step here
    ours = lengths(ESSettings(sigma_final=0.0))
    assert ours[-1] == pytest.approx(0.1, rel=0.05)  # both at the floor
    sigmas = [EvolutionStrategy(ESSettings(sigma_final=0.0), 0, 50)]
    sigmas[0].step = 49
    assert sigmas[0].sigma == ESSettings().sigma_floor > 0


def test_5_a_step_is_as_long_as_the_batch_tells_apart() -> None:
    def length(shaping: str, better: int) -> float:
        """RMS weight of a batch of 32 of which some are better and all others equal."""
        attempts = [attempt(i, 6.0 if i < better else 7.0) for i in range(32)]
        return float(np.sqrt((SHAPINGS[shaping](attempts, {}, "min") ** 2).mean()))

    assert length("paper", 1) == pytest.approx(1) == length("paper", 16)
    assert length("staged", 1) < 0.35
    assert length("staged", 1) < length("staged", 4) < length("staged", 16) < 0.9


def test_6_noise_depends_on_seed_and_name_alone() -> None:
    def published(seed: int, *chunks: int) -> torch.Tensor:
        """The device's own generator, filled chunk by chunk."""
        generator = torch.Generator().manual_seed(seed)
        return torch.cat([torch.randn(n, generator=generator) for n in chunks])

    assert torch.equal(published(1, 1000), published(1 + 2**32, 1000))  # 32 bits of the seed
    assert not torch.equal(published(1, 1005), published(1, 100, 905))  # the chunks

    assert not np.array_equal(gaussian(1, "w", 0, 1000), gaussian(1 + 2**32, "w", 0, 1000))
    parts = [gaussian(1, "w", 0, 100), gaussian(1, "w", 100, 905)]
    assert np.array_equal(np.concatenate(parts), gaussian(1, "w", 0, 1005))
    # A fused matrix holds the rows of three parameters: each under its own name, wherever it is.
    fused = np.zeros(3 * CHUNK + 30, np.float32)
    rows = [slice(0, CHUNK + 5), slice(CHUNK + 5, 2 * CHUNK), slice(2 * CHUNK, fused.size)]
    step = Update("full", (1,), (1.0,), 1.0, SIGMA)
    for name, part in zip("qkv", rows, strict=True):
        apply_full(fused[part], None, step, name)
        assert np.array_equal(fused[part], gaussian(1, name, 0, fused[part].size))
