"""Keys and values of the tokens read so far: one preallocated block, a row per sequence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Shape:
    """What one token's keys and values look like in a model."""

    layers: int
    heads: int  # of keys and values; fewer than query heads under grouped-query attention
    width: int  # of one head


class KVCache:
    """Keys and values: ``data``, bf16 [layers, 2, rows, heads, length, width].

    Token p of a sequence lies at position p of its row, so rows of different lengths share the
    block and what lies behind a row's end is garbage that attention has to mask.
    """

    def __init__(self, shape: Shape, rows: int, length: int, dtype: torch.dtype) -> None:
        import torch

        self.rows, self.length, self.heads = rows, length, shape.heads
        self.data = torch.zeros(
            shape.layers, 2, rows, shape.heads, length, shape.width, dtype=dtype
        )
        self._flat = self.data.view(shape.layers, 2, -1, shape.width)

    def slots(self, rows: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        """Where tokens are written: int64[tokens · heads] for rows and positions int64[tokens]."""
        import torch

        heads = torch.arange(self.heads)
        slots = (rows[:, None] * self.heads + heads) * self.length + positions[:, None]
        return slots.view(-1)

    def write(self, layer: int, slots: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> None:
        """Store keys and values [tokens, heads, width] of one layer in their slots."""
        flat = self._flat[layer]
        flat[0].index_copy_(0, slots, k.reshape(-1, k.shape[-1]))
        flat[1].index_copy_(0, slots, v.reshape(-1, v.shape[-1]))

    def move(self, source: int, target: int, count: int) -> None:
        """Copy the first ``count`` positions of a row to another row."""
        self.data[:, :, target, :, :count] = self.data[:, :, source, :, :count]

    def read(self, row: int, count: int) -> torch.Tensor:
        """A copy of a row's first positions: [layers, 2, heads, count, width]."""
        return self.data[:, :, row, :, :count].clone()

    def fill(self, row: int, prefix: torch.Tensor) -> None:
        """Put a prefix [layers, 2, heads, count, width] at the start of a row."""
        self.data[:, :, row, :, : prefix.shape[3]] = prefix
