"""Prefixes that prompts share, so that each is read once.

The prompts form a trie. A node is a stretch of tokens that at least two prompts go through, or the
rest of a prompt that it has to itself; the last token of a prompt stays out of it, since reading
that token is the first step of decoding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from coevo.llm.forward import Forward, Span
from coevo.llm.kv import KVCache

if TYPE_CHECKING:
    import torch

MIN_SHARED = 16  # tokens; a shorter shared stretch is not worth a node of its own


@dataclass
class Node:
    """Tokens ``start`` … ``end`` - 1 of the prompts with these indices."""

    prompts: list[int]
    start: int
    end: int
    children: list[Node] = field(default_factory=list)


def shared_prefixes(prompts: Sequence[Sequence[int]], min_shared: int = MIN_SHARED) -> list[Node]:
    """The trie's roots: nodes shared by two prompts or more (a lone prompt has none).

    A prompt's own rest begins where its deepest node ends.
    """
    order = sorted(range(len(prompts)), key=lambda i: list(prompts[i]))
    return _grow(prompts, order, 0, min_shared)


def _grow(
    prompts: Sequence[Sequence[int]], order: list[int], start: int, min_shared: int
) -> list[Node]:
    """Nodes that begin at ``start``, for prompts that agree up to there, in sorted order."""
    nodes = []
    for group in _groups(prompts, order, start + min_shared):
        first, last = prompts[group[0]], prompts[group[-1]]
        end = min(len(first), len(last)) - 1  # the group is sorted: its ends agree the least
        end = min(end, *(len(prompts[i]) - 1 for i in group))
        common = start
        while common < end and first[common] == last[common]:
            common += 1
        if common - start >= min_shared:
            node = Node(group, start, common)
            node.children = _grow(prompts, group, common, min_shared)
            nodes.append(node)
    return nodes


def _groups(prompts: Sequence[Sequence[int]], order: list[int], upto: int) -> list[list[int]]:
    """Runs of two or more prompts, longer than ``upto``, that agree on their first tokens."""
    runs: list[list[int]] = []
    previous: list[int] | None = None
    for i in order:
        head = list(prompts[i][:upto])
        if len(prompts[i]) <= upto:
            continue
        if head == previous:
            runs[-1].append(i)
        else:
            runs.append([i])
        previous = head
    return [run for run in runs if len(run) > 1]


def common_length(a: Sequence[int], b: Sequence[int]) -> int:
    """Number of leading tokens that two sequences share."""
    count = 0
    for x, y in zip(a, b, strict=False):
        if x != y:
            break
        count += 1
    return count


class Prefixes:
    """Keys and values of what the prompts of one call share.

    They are not kept for the next call: how a prompt is split into prefixes shows in the last bits
    of its keys, so a reply would depend on what was asked before, and a resumed run would differ.
    """

    def __init__(self, forward: Forward, prompts: Sequence[Sequence[int]]) -> None:
        """Read what the prompts share, level by level of their trie."""
        import torch

        self._entries: list[tuple[Sequence[int], torch.Tensor]] = []

        level: list[tuple[Node, int, torch.Tensor | None]]
        level = [(node, 0, None) for node in shared_prefixes(prompts)]
        with torch.inference_mode():
            while level:
                cache = KVCache(
                    forward.shape, len(level), max(n.end for n, _, _ in level), forward.dtype
                )
                spans: list[Span] = []
                below: list[tuple[Node, int, torch.Tensor | None]] = []
                for row, (node, start, prefix) in enumerate(level):
                    if prefix is not None:
                        cache.fill(row, prefix[..., :start, :])
                    spans.append(Span(row, start, prompts[node.prompts[0]][start : node.end]))
                forward.read(spans, cache)
                for row, (node, _, _) in enumerate(level):
                    held = cache.read(row, node.end)
                    self._entries.append((prompts[node.prompts[0]][: node.end], held))
                    below += [(child, node.end, held) for child in node.children]
                level = below

    def fill(self, cache: KVCache, row: int, prompt: Sequence[int]) -> int:
        """Put the longest known prefix of a prompt into a row; returns its length in tokens."""
        count, prefix = self._longest(prompt)
        count = min(count, len(prompt) - 1)
        if prefix is not None:
            cache.fill(row, prefix[..., :count, :])
        return count

    def _longest(self, prompt: Sequence[int]) -> tuple[int, torch.Tensor | None]:
        best: tuple[int, torch.Tensor | None] = (0, None)
        for tokens, held in self._entries:
            count = common_length(tokens, prompt)
            if count > best[0]:
                best = (count, held)
        return best
