"""The published instance sets, regenerated bit for bit from their seeds.

The release that accompanies Agentic ESOpt (arXiv 2608.17310) ships its sets as arrays. Each is a
stretch of one stream of NumPy's legacy ``RandomState``; the tests pin their sha256.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coevo.problems.base import Split


@dataclass(frozen=True)
class Block:
    """A stretch of the stream: ``count`` instances of ``n`` points with two coordinates each."""

    split: Split
    n: int
    count: int

    @property
    def draws(self) -> int:
        return self.count * self.n * 2


@dataclass(frozen=True)
class PointStream:
    """Sets of points in the unit square, drawn one after the other from one ``RandomState``."""

    seed: int
    blocks: tuple[Block, ...]

    def find(self, split: Split, n: int) -> Block | None:
        """The published block for this split and size, or None if there is none."""
        return next((b for b in self.blocks if b.split == split and b.n == n), None)

    def draw(self, split: Split, n: int) -> np.ndarray:
        """float64 (count, n, 2), bit-identical to the published file. Raises `LookupError`."""
        stream = np.random.RandomState(self.seed)
        for block in self.blocks:
            if (block.split, block.n) == (split, n):
                return stream.rand(block.count, block.n, 2)
            stream.rand(block.draws)
        raise LookupError(f"no published {split} set has size {n}")


TSP = PointStream(
    1234,
    (
        Block("train", 50, 64),
        *(Block("val", n, 64) for n in (20, 50, 100, 200)),
        *(Block("test", n, 1000) for n in (20, 50, 100, 200, 500, 1000)),
    ),
)
