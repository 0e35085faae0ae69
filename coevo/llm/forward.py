"""The forward pass of the Llama family (Llama, Mistral, Qwen2, Qwen3), written for CPU decoding.

It computes what the transformers modules compute, from those modules' own parameters, in fewer and
larger operations: matrices that read the same input run as one packed product, keys and values are
written in place, and grouped queries share their keys without copies. Two ways in: `read` takes
spans of several prompts at once, `step` takes one token of every row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from coevo.llm.kv import CHUNK, KVCache, Shape
from coevo.llm.overlay import Overlays
from coevo.llm.projection import Projection

if TYPE_CHECKING:
    from collections.abc import Callable

    import torch

    Attend = Callable[[int, torch.Tensor], torch.Tensor]
    Add = Callable[[Projection, torch.Tensor, torch.Tensor], None]

MODEL_TYPES = ("llama", "mistral", "qwen2", "qwen3")


@dataclass(frozen=True)
class Span:
    """Tokens of one sequence to read, from position ``start`` of a cache row on."""

    row: int
    start: int
    tokens: Sequence[int]
    direction: int = 0  # which direction they are read under, if there are overlays

    @property
    def end(self) -> int:
        return self.start + len(self.tokens)


@dataclass(frozen=True)
class Block:
    """One decoder layer's parts."""

    attention_norm: Any
    qkv: Projection
    q_norm: Any  # None but in Qwen3
    k_norm: Any
    o: Projection
    mlp_norm: Any
    gate_up: Projection
    down: Projection
    activation: Any


class Forward:
    """The forward pass over a transformers causal language model's parameters."""

    def __init__(self, model: Any) -> None:
        """``model``: a transformers ``*ForCausalLM`` of one of `MODEL_TYPES`, in eval mode.

        Raises ValueError for any other architecture.
        """
        config = model.config
        layer_types = set(getattr(config, "layer_types", None) or ["full_attention"])
        if config.model_type not in MODEL_TYPES or layer_types != {"full_attention"}:
            raise ValueError(
                f"the CPU backend decodes {', '.join(MODEL_TYPES)} with full attention, not "
                f"{config.model_type} ({', '.join(sorted(layer_types))}): use another model or "
                "another backend"
            )
        names = {module: name for name, module in model.named_modules()}

        def projection(*layers: Any) -> Projection:
            return Projection(layers, [f"{names[layer]}.weight" for layer in layers])

        self._model = model.model
        self.blocks = []
        for layer in self._model.layers:
            attention, mlp = layer.self_attn, layer.mlp
            self.blocks.append(
                Block(
                    attention_norm=layer.input_layernorm,
                    qkv=projection(attention.q_proj, attention.k_proj, attention.v_proj),
                    q_norm=getattr(attention, "q_norm", None),
                    k_norm=getattr(attention, "k_norm", None),
                    o=projection(attention.o_proj),
                    mlp_norm=layer.post_attention_layernorm,
                    gate_up=projection(mlp.gate_proj, mlp.up_proj),
                    down=projection(mlp.down_proj),
                    activation=mlp.act_fn,
                )
            )
        self.head = projection(model.lm_head)
        attention = self._model.layers[0].self_attn
        self.query_heads = config.num_attention_heads
        self.scale = attention.scaling
        self.dtype = model.dtype
        self.shape = Shape(config.num_hidden_layers, config.num_key_value_heads, attention.head_dim)

    @property
    def perturbed(self) -> list[Projection]:
        """The projections that low-rank directions act on: every Linear of the decoder layers."""
        return [p for b in self.blocks for p in (b.qkv, b.o, b.gate_up, b.down)]

    def pack(self) -> None:
        """Take notice of changed weights."""
        for projection in (*self.perturbed, self.head):
            projection.pack()

    def read(self, spans: Sequence[Span], cache: KVCache, overlays: Overlays | None = None) -> None:
        """Read spans into the cache; what a span attends to before its start is there already.

        Keys and values do not depend on where a prompt was split into spans: attention goes by
        chunks of absolute positions, since its rounding depends on the length it looks over.
        """
        import torch
        from torch.nn.functional import scaled_dot_product_attention

        cache.reserve(max(span.end for span in spans))
        lengths = [len(span.tokens) for span in spans]
        offsets = [sum(lengths[:i]) for i in range(len(spans))]
        tokens = torch.tensor([t for span in spans for t in span.tokens])
        positions = torch.cat([torch.arange(span.start, span.end) for span in spans])
        rows = torch.repeat_interleave(torch.tensor([s.row for s in spans]), torch.tensor(lengths))
        heads, width = self.shape.heads, self.shape.width
        groups = self.query_heads // heads
        chunks = []  # (row, first token, last token + 1, mask)
        for span, offset in zip(spans, offsets, strict=True):
            for chunk in range(span.start // CHUNK * CHUNK, span.end, CHUNK):
                first, last = max(chunk, span.start), min(chunk + CHUNK, span.end)
                mask = torch.arange(chunk + CHUNK) <= torch.arange(first, last)[:, None]
                move = offset - span.start
                chunks.append((span.row, first + move, last + move, mask.repeat(groups, 1)))

        def attend(layer: int, q: torch.Tensor) -> torch.Tensor:
            outputs = []
            for row, first, last, mask in chunks:
                own = q[first:last].view(last - first, heads, groups, width)
                own = own.permute(1, 2, 0, 3).reshape(1, heads, -1, width)
                k, v = cache.data[layer, :, row : row + 1, :, : mask.shape[1]]
                out = scaled_dot_product_attention(own, k, v, attn_mask=mask, scale=self.scale)
                out = out.view(heads, groups, last - first, width).permute(2, 0, 1, 3)
                outputs.append(out.reshape(last - first, -1))
            return torch.cat(outputs)

        def add(projection: Projection, y: torch.Tensor, x: torch.Tensor) -> None:
            if overlays is not None:
                overlay = overlays[projection]
                for span, offset, length in zip(spans, offsets, lengths, strict=True):
                    part = slice(offset, offset + length)
                    overlay.add_to_span(y[part], x[part], span.direction)

        self._run(tokens, positions, cache.slots(rows, positions), cache, attend, add)

    def step(
        self,
        tokens: torch.Tensor,
        positions: torch.Tensor,
        cache: KVCache,
        overlays: Overlays | None = None,
    ) -> torch.Tensor:
        """One token (int64[rows]) of each of the first rows at its position: logits [rows, vocab].

        Overlays must have their directions seated for these rows.
        """
        import torch

        count = len(tokens)
        cache.reserve(int(positions.max()) + 1)
        heads, width, length = self.shape.heads, self.shape.width, cache.length
        groups = self.query_heads // heads
        hidden = torch.arange(length) > positions[:, None]
        mask = torch.zeros(count, heads, groups, length, dtype=self.dtype)
        mask = mask.masked_fill_(hidden[:, None, None], -torch.inf).flatten(0, 1)

        def attend(layer: int, q: torch.Tensor) -> torch.Tensor:
            # On a CPU two batched products are twice as fast here as the fused attention.
            k, v = cache.data[layer, :, :count].flatten(1, 2)
            q = q.reshape(count * heads, groups, width)
            scores = torch.baddbmm(mask, q, k.transpose(1, 2), alpha=self.scale)
            return torch.bmm(torch.softmax(scores, -1), v).view(count, -1)

        def add(projection: Projection, y: torch.Tensor, x: torch.Tensor) -> None:
            if overlays is not None:
                overlays[projection].add_to_rows(y, x)

        slots = cache.slots(torch.arange(count), positions)
        x = self._run(tokens, positions, slots, cache, attend, add)
        return self.head(_normed(x, self._model.norm))

    def _run(
        self,
        tokens: torch.Tensor,
        positions: torch.Tensor,
        slots: torch.Tensor,
        cache: KVCache,
        attend: Attend,
        add: Add,
    ) -> torch.Tensor:
        """The decoder layers: residual stream [tokens, hidden] before the final norm."""
        x = self._model.embed_tokens(tokens)
        cos, sin = self._model.rotary_emb(x, positions[None])
        cos, sin = cos[0, :, None], sin[0, :, None].clone()
        sin[..., : self.shape.width // 2].neg_()  # so that a roll serves as rotate_half
        queries, keys = self.query_heads, self.shape.heads
        for index, block in enumerate(self.blocks):
            h = _normed(x, block.attention_norm)
            qkv = block.qkv(h)
            add(block.qkv, qkv, h)
            qkv = qkv.view(len(x), queries + 2 * keys, self.shape.width)
            q, k = qkv[:, :queries], qkv[:, queries : queries + keys]
            if block.q_norm is None:
                qk = _rotated(qkv[:, : queries + keys], cos, sin)
                q, k = qk[:, :queries], qk[:, queries:]
            else:
                q = _rotated(_normed(q, block.q_norm), cos, sin)
                k = _rotated(_normed(k, block.k_norm), cos, sin)
            cache.write(index, slots, k, qkv[:, queries + keys :])
            h = attend(index, q)
            y = block.o(h)
            add(block.o, y, h)
            x = x + y
            h = _normed(x, block.mlp_norm)
            y = block.gate_up(h)
            add(block.gate_up, y, h)
            gate, up = y.chunk(2, -1)
            h = block.activation(gate).mul_(up)
            y = block.down(h)
            add(block.down, y, h)
            x = x + y
        return x


def is_order_free(forward: Forward, rows: int) -> bool:
    """Whether a row is bit-identical alone, among up to ``rows`` rows and with its prompt split."""
    import torch

    with torch.inference_mode():
        lengths = [CHUNK + 6] + [3 + i % 4 for i in range(1, rows)]
        tokens = [[(7 * i + j * j) % 101 + 1 for j in range(n)] for i, n in enumerate(lengths)]
        last = torch.full((rows,), 5)
        positions = torch.tensor([len(t) for t in tokens])
        cache = KVCache(forward.shape, rows, 1, forward.dtype)
        forward.read([Span(i, 0, t) for i, t in enumerate(tokens)], cache)
        together = forward.step(last, positions, cache)
        for count in sorted({1, rows // 3, rows - 1} - {0, rows}):
            alone = KVCache(forward.shape, count, 200, forward.dtype)
            for i in range(count):
                forward.read([Span(i, 0, tokens[i])], alone)
            logits = forward.step(last[:count], positions[:count], alone)
            if not torch.equal(logits, together[:count]):
                return False
        first = tokens[0]
        for split in (1, 37, CHUNK, len(first) - 1):  # where prompts that share a prefix part
            parted = KVCache(forward.shape, 1, 200, forward.dtype)
            forward.read([Span(0, 0, first[:split])], parted)
            forward.read([Span(0, split, first[split:])], parted)
            reach = slice(0, len(first))
            if not torch.equal(parted.data[:, :, 0, :, reach], cache.data[:, :, 0, :, reach]):
                return False
    return True


def _normed(x: torch.Tensor, norm: Any) -> torch.Tensor:
    from torch.nn.functional import rms_norm

    return rms_norm(x, x.shape[-1:], norm.weight, norm.variance_epsilon)


def _rotated(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    return (x * cos).addcmul_(x.roll(x.shape[-1] // 2, -1), sin)
