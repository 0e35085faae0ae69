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


CHUNK = 64  # positions: lengths are multiples of it


def padded(length: int) -> int:
    """The next multiple of `CHUNK`."""
    return -(-length // CHUNK) * CHUNK


class KVCache:
    """Keys and values: ``data``, [layers, 2, rows, heads, length, width].

    Token p of a sequence lies at position p of its row, so rows of different lengths share the
    block, and what lies behind a row's end is finite garbage that attention has to mask. The block
    is only as long as its longest row needs, a multiple of `CHUNK`, and grows: attention then reads
    contiguous memory, which is twice as fast.
    """

    def __init__(self, shape: Shape, rows: int, length: int, dtype: torch.dtype) -> None:
        self.rows, self.shape, self.dtype = rows, shape, dtype
        self.length = padded(length)
        self.data = self._zeros()

    def reserve(self, length: int) -> None:
        """Make room for rows of this many tokens."""
        if length > self.length:
            old, kept = self.data, self.length
            self.length = padded(length)
            self.data = self._zeros()
            self.data[..., :kept, :] = old

    def _zeros(self) -> torch.Tensor:
        import torch

        layers, heads, width = self.shape.layers, self.shape.heads, self.shape.width
        return torch.zeros(layers, 2, self.rows, heads, self.length, width, dtype=self.dtype)

    def slots(self, rows: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        """Where tokens are written: int64[tokens · heads] for rows and positions int64[tokens]."""
        import torch

        count = self.shape.heads
        slots = (rows[:, None] * count + torch.arange(count)) * self.length + positions[:, None]
        return slots.view(-1)

    def write(self, layer: int, slots: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> None:
        """Store keys and values [tokens, heads, width] of one layer in their slots."""
        flat = self.data[layer].view(2, -1, self.shape.width)
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
