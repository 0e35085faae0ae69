"""Small GGUF files written from Hugging Face models, as llama.cpp would write them: for tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from gguf.quants import quantize

Type = gguf.GGMLQuantizationType

ROPE_PERMUTED = ("q_proj.weight", "k_proj.weight")


def write(
    model: Path,
    path: Path,
    kind: Type = Type.F32,
    *,
    output: Type | None = None,
    padding: int = 0,
    extra: dict[str, Any] | None = None,
) -> Path:
    """Write the model in a Hugging Face directory as a GGUF file.

    Matrices whose rows fill blocks are quantised to ``kind``. ``output`` stores the tied embedding
    again, at that type. ``padding`` appends unused tokens. ``extra`` overrides metadata strings.
    """
    from safetensors.torch import load_file

    config = json.loads((model / "config.json").read_text())
    architecture = config["model_type"]
    out = gguf.GGUFWriter(path, (extra or {}).get("architecture", architecture))
    out.add_block_count(config["num_hidden_layers"])
    out.add_context_length(config["max_position_embeddings"])
    out.add_embedding_length(config["hidden_size"])
    out.add_feed_forward_length(config["intermediate_size"])
    out.add_head_count(config["num_attention_heads"])
    out.add_head_count_kv(config["num_key_value_heads"])
    out.add_key_length(config["head_dim"])
    out.add_layer_norm_rms_eps(config["rms_norm_eps"])
    out.add_rope_freq_base(10000.0)
    _tokenizer(out, model, padding, extra or {})
    if scaling := (extra or {}).get("scaling"):
        out.add_string(f"{architecture}.rope.scaling.type", scaling)

    weights = {k: v.float().numpy() for k, v in load_file(model / "model.safetensors").items()}
    name_of = gguf.get_tensor_name_map(
        gguf.MODEL_ARCH[architecture.upper()], config["num_hidden_layers"]
    )
    for name, weight in weights.items():
        heads = {
            "q_proj": config["num_attention_heads"],
            "k_proj": config["num_key_value_heads"],
        }.get(name.split(".")[-2])
        if architecture == "llama" and heads:
            weight = permute(weight, heads)
        _add(out, name_of.get_name(name, (".weight", ".bias")), weight, kind)
    if output is not None:
        _add(out, "output.weight", weights["model.embed_tokens.weight"], output)
    if name := (extra or {}).get("tensor"):
        _add(out, name, np.ones(8, np.float32), Type.F32)
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()
    return path


def permute(weight: np.ndarray, heads: int) -> np.ndarray:
    """As ``LlamaModel.permute`` of llama.cpp's convert_hf_to_gguf.py, written row by row."""
    per_head = weight.shape[0] // heads
    rows = [
        head * per_head + part * (per_head // 2) + pair
        for head in range(heads)
        for pair in range(per_head // 2)
        for part in range(2)
    ]
    return weight[rows]


def _add(out: gguf.GGUFWriter, name: str, weight: np.ndarray, kind: Type) -> None:
    block, _ = gguf.GGML_QUANT_SIZES[kind]
    fits = weight.ndim == 2 and weight.shape[1] % block == 0
    used = kind if fits else Type.F32
    data = weight if used is Type.F32 else encode(weight, used)
    out.add_tensor(name, np.ascontiguousarray(data), raw_dtype=used)


def encode(weight: np.ndarray, kind: Type) -> np.ndarray:
    """Quantise, or, for the K types that the gguf package only reads, draw blocks at random."""
    if kind not in (Type.Q4_K, Type.Q6_K):
        return quantize(weight, kind)
    block, size = gguf.GGML_QUANT_SIZES[kind]
    rows, blocks = weight.shape[0], weight.shape[1] // block
    data = np.random.default_rng(0).integers(0, 256, (rows, blocks, size), dtype=np.uint8)
    scale = np.array([0.01], np.float16).view(np.uint8)
    for start in (0, 2) if kind is Type.Q4_K else (size - 2,):  # where a block holds its scales
        data[:, :, start : start + 2] = scale
    return data.reshape(rows, -1)


def _tokenizer(out: gguf.GGUFWriter, model: Path, padding: int, extra: dict[str, Any]) -> None:
    whole = json.loads((model / "tokenizer.json").read_text())
    special = {token["id"]: token["content"] for token in whole["added_tokens"]}
    tokens = {i: t for t, i in whole["model"]["vocab"].items()} | special
    pad = [f"[PAD{i}]" for i in range(padding)]
    out.add_tokenizer_model(extra.get("tokenizer", "gpt2"))
    out.add_tokenizer_pre(extra.get("pre", "qwen2"))
    out.add_token_list([tokens[i] for i in range(len(tokens))] + pad)
    out.add_token_types([3 if i in special else 1 for i in range(len(tokens))] + [5] * padding)
    out.add_eos_token_id(len(tokens) - 1)
    if template := (model / "chat_template.jinja").exists():
        out.add_chat_template((model / "chat_template.jinja").read_text() if template else "")
