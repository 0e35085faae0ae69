"""Tiny random models with a real byte-level tokenizer, made in a moment: for tests only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

CHAT = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
SIZES = {
    "vocab_size": 259,
    "hidden_size": 64,
    "intermediate_size": 160,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "max_position_embeddings": 2048,
    "bos_token_id": None,
    "eos_token_id": 258,
    "initializer_range": 0.15,
}


def make(path: Path, kind: str = "qwen2", *, tied: bool = True, chat: bool = True) -> Path:
    """Write a random model of ``kind`` (qwen2, qwen3, llama, mistral) with a byte tokenizer."""
    import torch
    import transformers
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    vocabulary = {c: i for i, c in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    tokenizer = Tokenizer(models.BPE(vocabulary, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(SPECIAL)
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=SPECIAL[2])
    fast.chat_template = CHAT if chat else None
    fast.save_pretrained(path)
    torch.set_num_threads(1)  # so small that threads only wait for each other
    torch.manual_seed(0)
    prefix = {"qwen2": "Qwen2", "qwen3": "Qwen3", "llama": "Llama", "mistral": "Mistral"}[kind]
    sizes: dict[str, Any] = SIZES | ({"sliding_window": None} if kind == "mistral" else {})
    config = getattr(transformers, f"{prefix}Config")(**sizes, tie_word_embeddings=tied)
    model = getattr(transformers, f"{prefix}ForCausalLM")(config).to(torch.bfloat16)
    for name, p in model.named_parameters():
        if name.endswith("bias"):
            torch.nn.init.normal_(p, std=0.1)
    model.save_pretrained(path)
    return path
