"""Overlays against weights that were really changed."""

from __future__ import annotations

import math

import pytest
import torch

from coevo.es.directions import Directions
from coevo.es.noise import lowrank_factors
from coevo.llm.overlay import Overlay
from coevo.llm.projection import Projection


@pytest.mark.parametrize("rank", [1, 4])
@torch.inference_mode()
def test_each_row_acts_under_its_own_perturbed_weights(rank: int) -> None:
    torch.manual_seed(0)
    layers = [torch.nn.Linear(48, width) for width in (32, 16, 16)]
    names = [f"layers.0.{part}.weight" for part in "qkv"]
    projection = Projection(layers, names)
    projection.pack()
    directions = Directions("lowrank", (5, 6, 7), sigma=0.1, rank=rank)
    overlay = Overlay(projection, directions)
    seated = [2, 0, 1, 2]
    overlay.seat(torch.tensor(seated))
    x = torch.randn(4, 48)
    y = projection(x)
    overlay.add_to_rows(y, x)
    for row, direction in enumerate(seated):
        parts = []
        for layer, name in zip(layers, names, strict=True):
            shape = (layer.out_features, layer.in_features)
            a, b = map(
                torch.from_numpy, lowrank_factors(directions.seeds[direction], name, shape, rank)
            )
            weight = layer.weight + 0.1 / math.sqrt(rank) * a @ b.T
            parts.append(torch.nn.functional.linear(x[row], weight, layer.bias))
        torch.testing.assert_close(y[row], torch.cat(parts), atol=1e-5, rtol=1e-5)
    span = projection(x)
    overlay.add_to_span(span, x, 2)
    torch.testing.assert_close(span[0], y[0], atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(span[3], y[3], atol=1e-5, rtol=1e-5)


def test_full_directions_are_refused() -> None:
    projection = Projection([torch.nn.Linear(8, 8)], ["w"])
    with pytest.raises(ValueError, match="lowrank"):
        Overlay(projection, Directions("full", (1,), 0.1))
