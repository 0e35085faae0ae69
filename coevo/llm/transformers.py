"""The transformers backend: writes on the CPU, and its weights can evolve."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coevo.attempt import Prompt
from coevo.es.directions import Directions, Update
from coevo.llm.base import Completion, OnCompletion, Sampling
from coevo.llm.decode import Reply, Scope, Stream, decode
from coevo.llm.forward import Forward, is_order_free
from coevo.llm.overlay import Overlays
from coevo.llm.threads import sleep_at_barriers

if TYPE_CHECKING:
    import numpy as np
    import torch

_END_OF_TURN = ("<|im_end|>", "<|endoftext|>", "<|eot_id|>", "</s>")


class TransformersModel:
    """A causal language model in a Hugging Face directory, in bf16.

    ``batch``: rows of the decode batch. ``threads``: torch's threads (None: leave as they are).
    ``scope``: what low-rank directions act on, ``reply`` (from a prompt's last token on, so that
    shared prompt prefixes are read once under the base weights) or ``all`` (the whole prompt too,
    read anew under each direction). Full directions always act on everything.

    ``order_free`` is tried out: it holds where the matrix kernels compute a row alike for any
    number of rows, as oneDNN's do.
    """

    continues = True
    notice = ""

    def __init__(
        self,
        path: Path,
        *,
        name: str,
        batch: int = 32,
        threads: int | None = None,
        scope: Scope = "reply",
    ) -> None:
        sleep_at_barriers()
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer
        from transformers.utils import logging

        logging.disable_progress_bar()
        if batch < 1:
            raise ValueError(f"batch must be at least 1, got {batch}")
        if threads is not None:
            torch.set_num_threads(threads)
        self.name, self.batch, self.scope = name, batch, scope
        self.tokenizer: Any = AutoTokenizer.from_pretrained(path)
        self.model: Any = AutoModelForCausalLM.from_pretrained(path, dtype=torch.bfloat16).eval()
        self.model.requires_grad_(False)
        self.forward = Forward(self.model)
        self.residuals: dict[str, torch.Tensor] = {}
        self._eos = _end_tokens(self.model, self.tokenizer)
        self._packed = False
        self._digest = ""
        self._pack()
        self.order_free = is_order_free(self.forward, batch)

    # Writing

    def generate(
        self,
        prompts: Sequence[Prompt],
        sampling: Sampling,
        seeds: Sequence[int],
        directions: Directions | None = None,
        on_completion: OnCompletion | None = None,
    ) -> list[Completion]:
        """Complete every prompt; see `LanguageModel.generate`.

        The same arguments and weights give the same completions. A text ends where its code does:
        see `coevo.llm.decode.Reply.take`.
        """
        if len(seeds) != len(prompts):
            raise ValueError(f"give one seed per prompt: {len(seeds)} for {len(prompts)}")
        if directions is not None and len(directions.seeds) != len(prompts):
            raise ValueError(
                f"give one direction per prompt: {len(directions.seeds)} for {len(prompts)}"
            )
        replies = [
            self._reply(i, prompt, seed)
            for i, (prompt, seed) in enumerate(zip(prompts, seeds, strict=True))
        ]
        if directions is None:
            return self._decode(replies, sampling, None, on_completion)
        if directions.kind == "lowrank":
            overlays = Overlays(self.forward.perturbed, directions)
            return self._decode(replies, sampling, overlays, on_completion)
        done: dict[int, Completion] = {}
        for seed in dict.fromkeys(directions.seeds):
            mine = [r for r, s in zip(replies, directions.seeds, strict=True) if s == seed]
            with self._perturbed(seed, directions.sigma):
                written = self._decode(mine, sampling, None, on_completion)
            done |= {reply.index: c for reply, c in zip(mine, written, strict=True)}
        return [done[i] for i in range(len(prompts))]

    def _decode(
        self,
        replies: Sequence[Reply],
        sampling: Sampling,
        overlays: Overlays | None,
        on_completion: OnCompletion | None,
    ) -> list[Completion]:
        self._pack()
        return decode(
            self.forward,
            replies,
            sampling,
            self._eos,
            self.batch,
            overlays,
            self.scope,
            on_completion,
        )

    def _pack(self) -> None:
        if not self._packed:
            self.forward.pack()
            self._packed = True

    def _reply(self, index: int, prompt: Prompt, seed: int) -> Reply:
        tokens = self.encode(prompt)
        stream = Stream(self.tokenizer.backend_tokenizer, tokens[-1])
        return Reply(index, tokens, seed, prompt.begun, prompt.function, stream)

    def encode(self, prompt: Prompt) -> list[int]:
        """Token ids of the prompt in the model's chat format, the begun reply left open."""
        if not self.tokenizer.chat_template:
            parts = [part for part in (prompt.system, prompt.user, prompt.begun) if part]
            return list(self.tokenizer("\n\n".join(parts))["input_ids"])
        messages = [{"role": "user", "content": prompt.user}]
        if prompt.system:
            messages.insert(0, {"role": "system", "content": prompt.system})
        text = self.tokenizer.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=True
        )
        return list(self.tokenizer(text + prompt.begun, add_special_tokens=False)["input_ids"])

    # Evolving

    def parameters(self) -> dict[str, torch.Tensor]:
        """The live weights by canonical Hugging Face name; tied ones once."""
        return {name: p.data for name, p in self.model.named_parameters()}

    def apply(self, update: Update) -> None:
        """Move the live weights by the update, exactly: each is a float32 master in two parts."""
        import torch

        from coevo.es.update import apply_full, apply_lowrank

        if update.skipped:
            return
        parameters = self.parameters()
        if update.kind == "lowrank":
            names = [name for p in self.forward.perturbed for name in p.names]
            land = apply_lowrank
        else:
            names, land = list(parameters), apply_full
        self._changed()
        for name in names:
            weight = parameters[name]
            if name not in self.residuals:
                self.residuals[name] = torch.zeros(weight.shape, dtype=torch.int16)
            land(_bits(weight), self.residuals[name].numpy(), update, name)

    def digest(self) -> str:
        """BLAKE2b (hex, 32 bytes) of the float32 masters, by name; kept until they change."""
        if not self._digest:
            state = hashlib.blake2b(digest_size=32)
            for name, weight in sorted(self.parameters().items()):
                state.update(f"{name} {tuple(weight.shape)}\n".encode())
                state.update(_bits(weight).data)
                residual = self.residuals.get(name)
                if residual is not None and residual.any():
                    state.update(residual.numpy().data)
            self._digest = state.hexdigest()
        return self._digest

    def save(self, path: Path) -> None:
        """Write the live weights (bf16) and the tokenizer as a Hugging Face directory."""
        self.model.save_pretrained(path)
        self.tokenizer.save_pretrained(path)

    @contextmanager
    def _perturbed(self, seed: int, sigma: float) -> Iterator[None]:
        """The weights at θ + sigma ε, put back bit by bit at the end, whatever happens."""
        from coevo.es.update import perturb_full

        parameters = self.parameters()
        kept = {name: weight.clone() for name, weight in parameters.items()}
        self._changed()
        try:
            for name, weight in parameters.items():
                perturb_full(_bits(weight), seed, name, sigma)
            yield
        finally:
            for name, weight in parameters.items():
                weight.copy_(kept[name])
            self._changed()

    def _changed(self) -> None:
        self._packed = False
        self._digest = ""


def _bits(weight: torch.Tensor) -> np.ndarray:
    """A bf16 weight's bits, shared with it: uint16, same shape."""
    import torch

    return weight.view(torch.uint16).numpy()


def _end_tokens(model: Any, tokenizer: Any) -> frozenset[int]:
    """Ids of the tokens that end a turn."""
    configured = model.generation_config.eos_token_id
    ids = set(configured if isinstance(configured, list) else [configured])
    ids.add(tokenizer.eos_token_id)
    vocabulary = tokenizer.get_vocab()
    ids |= {vocabulary.get(token) for token in _END_OF_TURN}
    return frozenset(ids - {None})
