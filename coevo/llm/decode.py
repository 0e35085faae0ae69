"""The decode loop: a batch of rows that finished replies leave and waiting prompts join.

A completion is a function of its prompt, its seed and its direction: its sampling numbers come from
(seed, token index), and which neighbours share its batch changes nothing but rounding (and not even
that where the matrix kernels compute each row alike for any number of rows, as oneDNN's do).
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np

from coevo.llm.base import Completion, Sampling
from coevo.llm.ending import code_end
from coevo.llm.forward import Forward, Span
from coevo.llm.kv import KVCache
from coevo.llm.nucleus import sample
from coevo.llm.prefix import Prefixes
from coevo.llm.uniforms import uniforms

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from coevo.llm.overlay import Overlays

Scope = Literal["reply", "all"]


class Stream:
    """Turns tokens into text one by one; a token that ends inside a character gives none yet."""

    def __init__(self, tokenizer: Tokenizer, last: int) -> None:
        """``last``: the prompt's last token."""
        from tokenizers.decoders import DecodeStream

        self._tokenizer = tokenizer
        self._stream = DecodeStream(skip_special_tokens=True)
        self._stream.step(tokenizer, last)  # some decoders strip the space before a first token

    def step(self, token: int) -> str:
        return self._stream.step(self._tokenizer, token) or ""


@dataclass
class Reply:
    """One reply in the making."""

    index: int  # of its prompt
    prompt: Sequence[int]  # token ids
    seed: int
    begun: str  # the start of the reply that is part of the prompt
    function: str
    stream: Stream
    text: str = ""
    tokens: int = 0
    seconds: float = 0.0
    last: int = field(init=False)  # the token to read next

    def __post_init__(self) -> None:
        if not self.prompt:
            raise ValueError("a prompt has no tokens: give it a text")
        self.last = self.prompt[-1]

    @property
    def position(self) -> int:
        """Of the token to read next."""
        return len(self.prompt) - 1 + self.tokens

    def take(self, token: int, sampling: Sampling, eos: frozenset[int]) -> Completion | None:
        """Append a token; the completion, if that ends the reply.

        If the code is complete, the text is cut at its end: the closing fence stays, what would
        have followed the code goes.
        """
        self.tokens += 1
        self.last = token
        if token in eos:
            return self._completion("eos")
        piece = self.stream.step(token)
        self.text += piece
        if piece and _may_end_code(self.text, piece):
            end = code_end(self.begun, self.text, self.function)
            if end is not None:
                self.text = self.text[:end]
                return self._completion("stop")
        return self._completion("length") if self.tokens >= sampling.max_new_tokens else None

    def _completion(self, finish: Literal["stop", "eos", "length"]) -> Completion:
        return Completion(self.text, self.tokens, finish, self.seconds)


def _may_end_code(text: str, piece: str) -> bool:
    """Whether it is worth asking: code ends at line ends and at the start of unindented lines."""
    line = text.rfind("\n") + 1
    return "\n" in piece or (line < len(text) and not text[line].isspace()) or "```" in text[line:]


def decode(
    forward: Forward,
    replies: Sequence[Reply],
    sampling: Sampling,
    eos: frozenset[int],
    batch: int,
    overlays: Overlays | None = None,
    scope: Scope = "reply",
    on_completion: Callable[[int, Completion], None] | None = None,
) -> list[Completion]:
    """Write all replies, at most ``batch`` at a time; completions in the order of ``replies``.

    Reply j is written under direction j of the ``overlays``. Under scope ``reply`` a direction acts
    from a prompt's last token on, and prompts are read under the base weights, shared prefixes
    once; under ``all`` each prompt is read under its own direction.
    """
    import torch

    done: list[Completion | None] = [None] * len(replies)
    if not replies:
        return []
    prompts = [reply.prompt for reply in replies]
    alone = overlays is not None and scope == "all"
    started = time.perf_counter()
    if not alone:
        prefixes = Prefixes(forward, prompts)
        share = (time.perf_counter() - started) / len(replies)
        for reply in replies:
            reply.seconds += share
    rows_held = min(batch, len(replies))
    cache = KVCache(forward.shape, rows_held, max(map(len, prompts)), forward.dtype)
    waiting = deque(range(len(replies)))
    rows: list[int] = []  # which reply is in which row
    changed = True  # whether they are others than in the step before

    def join() -> None:
        spans = []
        while waiting and len(rows) < cache.rows:
            j, row = waiting.popleft(), len(rows)
            rows.append(j)
            start = 0 if alone else prefixes.fill(cache, row, prompts[j])
            if start < len(prompts[j]) - 1:
                spans.append(Span(row, start, prompts[j][start:-1], direction=j))
        if spans:
            forward.read(spans, cache, overlays if alone else None)

    def leave(row: int) -> None:
        last = len(rows) - 1
        if row != last:
            cache.move(last, row, replies[rows[last]].position)
            rows[row] = rows[last]
        rows.pop()

    with torch.inference_mode():
        while waiting or rows:
            started = time.perf_counter()
            if waiting and len(rows) < cache.rows:
                join()
                changed = True
            if overlays is not None and changed:
                overlays.seat(rows)
            changed = False
            active = [replies[j] for j in rows]
            logits = forward.step(
                torch.tensor([reply.last for reply in active]),
                torch.tensor([reply.position for reply in active]),
                cache,
                overlays,
            )
            seeds = np.array([reply.seed for reply in active], dtype=np.uint64)
            counters = np.array([reply.tokens for reply in active], dtype=np.uint64)
            numbers = torch.from_numpy(uniforms(seeds, counters))
            tokens = sample(logits, numbers, sampling).tolist()
            share = (time.perf_counter() - started) / len(rows)
            for row in reversed(range(len(rows))):
                reply = active[row]
                reply.seconds += share
                completion = reply.take(tokens[row], sampling, eos)
                if completion is not None:
                    done[rows[row]] = completion
                    leave(row)
                    changed = True
                    if on_completion is not None:
                        on_completion(reply.index, completion)
    return [completion for completion in done if completion is not None]
