"""Nucleus sampling against its definition, written out plainly."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from coevo.llm.base import Sampling
from coevo.llm.nucleus import sample


def plain(logits: torch.Tensor, u: float, sampling: Sampling) -> int:
    """The definition, one token at a time in Python."""
    x = (logits.float() / sampling.temperature).double().numpy()
    order = sorted(range(len(x)), key=lambda i: (-x[i], i))
    p = np.exp(x - x.max())
    p /= p.sum()
    kept: list[int] = []
    mass = 0.0
    for i in order:
        if (kept and mass >= sampling.top_p) or p[i] < sampling.min_p * p[order[0]]:
            break
        kept.append(i)
        mass += p[i]
    reached = 0.0
    for i in kept:
        reached += p[i]
        if reached > u * mass:
            return i
    return kept[-1]


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    scale=st.sampled_from([0.01, 0.5, 2.0, 6.0]),
    top_p=st.sampled_from([0.05, 0.5, 0.9, 0.98, 1.0]),
    min_p=st.sampled_from([0.0, 0.02, 0.3]),
    temperature=st.sampled_from([0.3, 1.0, 1.7]),
)
def test_any_widths_give_what_the_full_sort_gives(
    seed: int, scale: float, top_p: float, min_p: float, temperature: float
) -> None:
    generator = torch.Generator().manual_seed(seed)
    # bf16, as a model's are: ties abound, also across the borders of the widths
    logits = (torch.randn(6, 700, generator=generator) * scale).bfloat16()
    u = torch.rand(6, generator=generator, dtype=torch.float64)
    sampling = Sampling(temperature=temperature, top_p=top_p, min_p=min_p)
    full = sample(logits, u, sampling, widths=())
    assert torch.equal(sample(logits, u, sampling, widths=(8, 64)), full)
    assert torch.equal(sample(logits, u, sampling, widths=(1,)), full)
    assert torch.equal(sample(logits, u, sampling), full)


@pytest.mark.parametrize("top_p", [0.1, 0.7, 1.0])
@pytest.mark.parametrize("min_p", [0.0, 0.1])
def test_it_is_the_definition(top_p: float, min_p: float) -> None:
    generator = torch.Generator().manual_seed(1)
    logits = (torch.randn(200, 40, generator=generator) * 2).bfloat16()
    u = torch.rand(200, generator=generator, dtype=torch.float64)
    sampling = Sampling(temperature=0.8, top_p=top_p, min_p=min_p)
    got = sample(logits, u, sampling, widths=(4, 16)).tolist()
    assert got == [plain(row, float(v), sampling) for row, v in zip(logits, u, strict=True)]


def test_equal_logits_are_drawn_in_order_of_token() -> None:
    u = torch.arange(10, dtype=torch.float64) / 10 + 0.05
    tokens = sample(torch.zeros(10, 10), u, Sampling(top_p=1.0), widths=(2,))
    assert tokens.tolist() == list(range(10))


def test_frequencies_are_the_probabilities() -> None:
    p = torch.tensor([0.5, 0.25, 0.15, 0.06, 0.04], dtype=torch.float64)
    u = (torch.arange(10000, dtype=torch.float64) + 0.5) / 10000
    tokens = sample(p.log().expand(10000, -1), u, Sampling(top_p=0.9))
    counts = torch.bincount(tokens, minlength=5) / 10000
    # 0.5 + 0.25 + 0.15 may fall on either side of 0.9: both nuclei are checked by proportions
    assert counts[0] / counts[1] == pytest.approx(2.0, abs=0.01)
    assert counts[4] == 0


def test_a_row_does_not_depend_on_its_neighbours() -> None:
    logits = torch.randn(33, 5000) * 3
    u = torch.rand(33, dtype=torch.float64)
    together = sample(logits, u, Sampling())
    alone = torch.cat([sample(logits[i : i + 1], u[i : i + 1], Sampling()) for i in range(33)])
    assert torch.equal(together, alone)


def test_a_temperature_of_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="temperature"):
        sample(torch.zeros(1, 4), torch.zeros(1, dtype=torch.float64), Sampling(temperature=0.0))
