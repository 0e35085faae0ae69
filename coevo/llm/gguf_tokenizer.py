"""A Hugging Face tokenizer rebuilt from the metadata of a GGUF file (byte-level BPE only).

The vocabulary, merges and special tokens are in the file. How text is cut before merging is not:
the file only names it (``tokenizer.ggml.pre``), and the rules are those of the models' own
tokenizers, as llama.cpp's ``src/llama-vocab.cpp`` lists them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coevo.llm.model_error import ModelError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

# The values of ``tokenizer.ggml.token_type`` (llama.cpp, ``enum llama_token_type``).
_NORMAL, _UNKNOWN, _CONTROL, _USER_DEFINED, _UNUSED = 1, 2, 3, 4, 5

_WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}{digits}"
    r"| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_QWEN2_WORDS = _WORDS.format(digits="")
_LLAMA3_WORDS = _WORDS.format(digits="{1,3}")


def write_tokenizer(metadata: Mapping[str, Any], directory: Path) -> None:
    """Write ``tokenizer.json`` and ``tokenizer_config.json`` (with the chat template).

    Raises `ModelError` if the file holds a tokenizer of another kind, or none.
    """
    _build(metadata).save(str(directory / "tokenizer.json"))
    tokens = metadata["tokenizer.ggml.tokens"]
    config: dict[str, Any] = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "add_prefix_space": False,
        "clean_up_tokenization_spaces": False,
        "model_max_length": metadata[f"{metadata['general.architecture']}.context_length"],
    }
    names = {"bos": "bos", "eos": "eos", "unknown": "unk", "padding": "pad"}
    for theirs, ours in names.items():
        token = metadata.get(f"tokenizer.ggml.{theirs}_token_id")
        if token is not None:
            config[f"{ours}_token"] = tokens[token]
    if template := metadata.get("tokenizer.chat_template"):
        config["chat_template"] = template
    text = json.dumps(config, indent=2, ensure_ascii=False)
    (directory / "tokenizer_config.json").write_text(text + "\n", encoding="utf-8")


def end_tokens(metadata: Mapping[str, Any]) -> list[int]:
    """Ids that end a reply: the file's own, and the usual names of end of text and of turn."""
    tokens, kinds = metadata["tokenizer.ggml.tokens"], metadata["tokenizer.ggml.token_type"]
    usual = {"<|endoftext|>", "<|end_of_text|>", "<|im_end|>", "<|eot_id|>"}
    own = metadata.get("tokenizer.ggml.eos_token_id")
    found = [i for i, token in enumerate(tokens) if kinds[i] == _CONTROL and token in usual]
    return [] if own is None else [own, *(i for i in found if i != own)]


def _build(metadata: Mapping[str, Any]) -> Tokenizer:
    from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, processors

    kind, cut = metadata.get("tokenizer.ggml.model"), metadata.get("tokenizer.ggml.pre")
    if kind != "gpt2":
        raise ModelError(
            f"this GGUF file holds a {kind or 'missing'!r} tokenizer and only byte-level BPE "
            "('gpt2') can be rebuilt: give the model as a Hugging Face directory instead"
        )
    tokens, kinds = metadata["tokenizer.ggml.tokens"], metadata["tokenizer.ggml.token_type"]
    # Padding of the vocabulary to a round number (_UNUSED) is no token: nothing may encode to it.
    vocabulary = {token: i for i, token in enumerate(tokens) if kinds[i] == _NORMAL}
    merges = [_pair(merge) for merge in metadata.get("tokenizer.ggml.merges", [])]
    added = [
        AddedToken(token, special=kinds[i] != _USER_DEFINED, normalized=False)
        for i, token in enumerate(tokens)
        if kinds[i] in (_UNKNOWN, _CONTROL, _USER_DEFINED)
    ]
    # Added tokens keep their ids only if the vocabulary knows them already.
    vocabulary |= {token.content: tokens.index(token.content) for token in added}

    tokenizer = Tokenizer(models.BPE(vocabulary, merges, ignore_merges=cut == "llama-bpe"))
    if cut == "qwen2":
        tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = _pre_tokenizer(cut)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_tokens(added)
    if metadata.get("tokenizer.ggml.add_bos_token", False):
        bos = metadata["tokenizer.ggml.bos_token_id"]
        tokenizer.post_processor = processors.TemplateProcessing(
            single=f"{tokens[bos]} $A",
            pair=f"{tokens[bos]} $A {tokens[bos]}:1 $B:1",
            special_tokens=[(tokens[bos], bos)],
        )
    return tokenizer


def _pair(merge: str) -> tuple[str, str]:
    left, _, right = merge.partition(" ")
    return left, right


def _pre_tokenizer(cut: str | None) -> Any:
    from tokenizers import Regex
    from tokenizers.pre_tokenizers import ByteLevel, Digits, Sequence, Split

    if cut == "smollm":
        return Sequence([Digits(individual_digits=True), ByteLevel(add_prefix_space=False)])
    words = {"qwen2": _QWEN2_WORDS, "llama-bpe": _LLAMA3_WORDS}.get(cut or "")
    if words is None:
        raise ModelError(
            f"this GGUF file cuts text the {cut!r} way and only qwen2, llama-bpe and smollm are "
            "known here: give the model as a Hugging Face directory instead"
        )
    return Sequence(
        [
            Split(Regex(words), behavior="isolated"),
            ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
