"""Nucleus sampling (Holtzman et al. 2020), exact, without sorting the vocabulary.

Definition: order the tokens by logit, descending, ties by token id, ascending. The nucleus is the
shortest prefix with probability mass of at least ``top_p``; ``min_p`` then drops tokens below that
share of the likeliest one's probability. A uniform number u picks the first token at which the
kept tokens' cumulative mass exceeds u times their total.

Only a prefix of that order matters, and it is nearly always short: so the k largest logits are
taken, for growing k, and the whole vocabulary is sorted only if none of them holds the nucleus.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from coevo.llm.base import Sampling

if TYPE_CHECKING:
    import torch

WIDTHS = (128, 1024, 8192)  # numbers of largest logits to try before the full sort
_PARTS = 128


def sample(
    logits: torch.Tensor,
    uniforms: torch.Tensor,
    sampling: Sampling,
    widths: Sequence[int] = WIDTHS,
) -> torch.Tensor:
    """Draw one token per row: int64[rows], on the CPU or wherever ``logits`` are.

    ``logits``: [rows, vocabulary], any float type. ``uniforms``: float64[rows] in [0, 1).
    ``widths=()`` is the plain definition, by a full sort; the result is the same for any widths.
    """
    import torch

    if sampling.temperature <= 0:
        raise ValueError(f"temperature must be > 0, got {sampling.temperature}")
    x = logits.float()
    if sampling.temperature != 1.0:
        x = x / sampling.temperature
    total = _total(x)
    tokens = torch.empty(len(x), dtype=torch.int64, device=x.device)
    pending = torch.arange(len(x), device=x.device)
    for width in widths:
        if width >= x.shape[1]:
            break
        part = x if len(pending) == len(x) else x[pending]
        values, ids = _largest(part, width)
        drawn, kept = _draw(values, ids, total[pending], uniforms[pending], sampling)
        # Certain only if the nucleus ends above the last value: that one may go on outside.
        last_kept = values.gather(1, (kept - 1)[:, None])[:, 0]
        certain = last_kept > values[:, -1]
        tokens[pending[certain]] = drawn[certain]
        pending = pending[~certain]
        if not len(pending):
            return tokens
    values, ids = torch.sort(x[pending], dim=-1, descending=True, stable=True)
    tokens[pending] = _draw(values, ids, total[pending], uniforms[pending], sampling)[0]
    return tokens


def _total(x: torch.Tensor) -> torch.Tensor:
    """Sum of exp(x - max) of each row, the same for any number of rows and threads: float64."""
    import torch

    weights = (x - x.amax(-1, keepdim=True)).exp_()
    size = x.shape[1] // _PARTS * _PARTS
    # A few parts per row, so that torch never splits a part's sum over threads.
    parts = weights[:, :size].view(len(x), _PARTS, -1).sum(-1)
    rest = weights[:, size:].sum(-1, dtype=torch.float64)
    return parts.sum(-1, dtype=torch.float64) + rest


def _largest(x: torch.Tensor, width: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The ``width`` largest values of each row and their columns, ties by column."""
    import torch

    values, ids = torch.topk(x, width, dim=-1)
    ids, order = torch.sort(ids, dim=-1)
    values, order = torch.sort(values.gather(1, order), dim=-1, descending=True, stable=True)
    return values, ids.gather(1, order)


def _draw(
    values: torch.Tensor,
    ids: torch.Tensor,
    total: torch.Tensor,
    uniforms: torch.Tensor,
    sampling: Sampling,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Tokens drawn from ordered rows, and how many entries of each row were kept."""
    values = values.double()
    p = (values - values[:, :1]).exp_() / total[:, None]
    cumulative = p.cumsum(-1)
    keep = (cumulative - p < sampling.top_p) & (p >= sampling.min_p * p[:, :1])
    kept = keep.sum(-1).clamp_(min=1)
    mass = cumulative.gather(1, (kept - 1)[:, None])[:, 0]
    index = (cumulative <= (uniforms * mass)[:, None]).sum(-1)
    index = index.minimum(kept - 1)
    return ids.gather(1, index[:, None])[:, 0], kept
