"""Low-rank directions as overlays: every row of a batch is written under weights of its own.

Under direction i a weight W acts as W + σ/√r · Aᵢ Bᵢᵀ, so y = x Wᵀ + σ/√r · (x Bᵢ) Aᵢᵀ for the rows
of sequence i (EGGROLL, arXiv 2511.16652). W is never touched; all rows share its matrix product,
and what is added costs r dot products and r scaled vectors per row and matrix.

A and B are float32 noise (`coevo.es.noise`) rounded to the weights' type; σ/√r is folded into A
before rounding.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from coevo.es.directions import Directions
from coevo.es.noise import batched_lowrank_factors

if TYPE_CHECKING:
    import torch

    from coevo.llm.projection import Projection


class Overlay:
    """The directions of a set of sequences on one `Projection`, and which of them is in which row.

    ``b``: [directions, parts · rank, in], ``a``: [directions, rank, out], where parts are the
    projection's layers and ``out`` is the sum of their widths.
    """

    def __init__(self, projection: Projection, directions: Directions) -> None:
        import torch

        if directions.kind != "lowrank":
            raise ValueError(f"an overlay needs lowrank directions, got {directions.kind}")
        rank, scale = directions.rank, directions.sigma / math.sqrt(directions.rank)
        a_parts, b_parts = [], []
        for layer, name in zip(projection.layers, projection.names, strict=True):
            shape = (layer.out_features, layer.in_features)
            a, b = batched_lowrank_factors(directions.seeds, name, shape, rank)
            dtype = layer.weight.dtype
            a_parts.append(torch.from_numpy(a * scale).transpose(1, 2).to(dtype))
            b_parts.append(torch.from_numpy(b).transpose(1, 2).to(dtype))
        self.rank = rank
        self.a = torch.cat(a_parts, -1).contiguous()
        self.b = torch.stack(b_parts, 1).flatten(1, 2).contiguous()
        self._widths = projection.widths
        self._a_rows = self._b_rows = self.a[:0]

    def seat(self, directions: torch.Tensor) -> None:
        """Row j of a decode batch is under direction ``directions[j]``: int64[rows]."""
        self._a_rows = self.a.index_select(0, directions)
        self._b_rows = self.b.index_select(0, directions)

    def add_to_rows(self, y: torch.Tensor, x: torch.Tensor) -> None:
        """Add to y [rows, out] what the seated directions make of x [rows, in], in place."""
        import torch

        t = torch.linalg.vecdot(self._b_rows, x[:, None]).view(len(x), -1, self.rank)
        start = 0
        for part, width in enumerate(self._widths):
            for j in range(self.rank):
                own = self._a_rows[:, j, start : start + width]
                y[:, start : start + width].addcmul_(own, t[:, part, j, None])
            start += width

    def add_to_span(self, y: torch.Tensor, x: torch.Tensor, direction: int) -> None:
        """The same for a span of tokens that are all under one direction, in place."""
        t = (x @ self.b[direction].T).view(len(x), -1, self.rank)
        start = 0
        for part, width in enumerate(self._widths):
            y[:, start : start + width] += t[:, part] @ self.a[direction, :, start : start + width]
            start += width


class Overlays:
    """An `Overlay` for each projection of a model, by position."""

    def __init__(self, projections: Sequence[Projection], directions: Directions) -> None:
        self._overlays = {id(p): Overlay(p, directions) for p in projections}

    def __getitem__(self, projection: Projection) -> Overlay:
        return self._overlays[id(projection)]

    def seat(self, directions: Sequence[int]) -> None:
        """Row j of the decode batch is under direction ``directions[j]``."""
        import torch

        index = torch.tensor(directions, dtype=torch.int64)
        for overlay in self._overlays.values():
            overlay.seat(index)
