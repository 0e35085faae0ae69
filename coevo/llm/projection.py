"""One or more Linear layers that read the same input, run as a single matrix product.

On CPUs with bf16 instructions oneDNN wants weights in a blocked layout and, given a plain matrix,
makes that copy anew in every call: at decode's 32 rows that is a third of the time. So the blocked
copy is kept, and made again after the weights have changed. It costs the weights' memory once more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch
    from torch import nn


def can_pack(dtype: torch.dtype) -> bool:
    """Whether this build of torch and this CPU multiply bf16 matrices in oneDNN's own layout."""
    import torch

    return (
        dtype == torch.bfloat16
        and torch.backends.mkldnn.is_available()
        and hasattr(torch.ops.mkldnn, "_linear_pointwise")
        and bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())
    )


class Projection:
    """y = x [W₁ᵀ W₂ᵀ …] + bias for Linear layers that share their input."""

    def __init__(self, layers: Sequence[nn.Linear], names: Sequence[str]) -> None:
        self.layers = tuple(layers)
        self.names = tuple(names)  # canonical names of the weights, in the order of the outputs
        self.widths = tuple(layer.out_features for layer in layers)
        self._packed: torch.Tensor | None = None
        self._bias: torch.Tensor | None = None

    def pack(self) -> None:
        """Bring the fast copy up to date with the layers' weights; no copy where none helps."""
        import torch

        weights = [layer.weight.detach() for layer in self.layers]
        if not can_pack(weights[0].dtype):
            return
        weight = weights[0] if len(weights) == 1 else torch.cat(weights)
        self._packed = torch.ops.mkldnn._reorder_linear_weight(weight, None)
        biases = [layer.bias for layer in self.layers]
        if any(bias is not None for bias in biases):
            zeros = [torch.zeros(width, dtype=weight.dtype) for width in self.widths]
            pairs = zip(biases, zeros, strict=True)
            self._bias = torch.cat([zero if bias is None else bias for bias, zero in pairs])

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """[tokens, in] to [tokens, sum of the layers' outputs]."""
        import torch

        if self._packed is not None:
            return torch.ops.mkldnn._linear_pointwise(x, self._packed, self._bias, "none", [], "")
        parts = [layer(x) for layer in self.layers]
        return parts[0] if len(parts) == 1 else torch.cat(parts, -1)
