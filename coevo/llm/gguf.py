"""A GGUF file, dequantised once to a Hugging Face directory in bf16.

Understands the Llama, Qwen2 and Qwen3 architectures. Weights go tensor by tensor from the file to
``model.safetensors``, so memory holds one block of rows, whatever the size of the model. Names and
the permutation of Llama's query and key rows follow llama.cpp's ``convert_hf_to_gguf.py``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from coevo.llm.gguf_file import Tensor, read
from coevo.llm.gguf_tokenizer import end_tokens, write_tokenizer
from coevo.llm.model_error import ModelError
from coevo.llm.progress import Observer, Progress, silent

_CLASSES = {"llama": "LlamaForCausalLM", "qwen2": "Qwen2ForCausalLM", "qwen3": "Qwen3ForCausalLM"}

_NAMES = {
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "output": "lm_head",
}
_LAYER_NAMES = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}

_BLOCK = 1 << 23  # weights dequantised at a time: 32 MiB as float32


def convert(source: Path, directory: Path, observer: Observer = silent) -> None:
    """Write the model in ``source`` to ``directory``, which exists and is empty.

    Weights that the file holds twice because the model ties its embeddings are written once, from
    the finer of the two copies. Raises `ModelError` if ``source`` is damaged or not understood.
    """
    check_magic(source)
    try:
        _convert(source, directory, observer)
    except (ModelError, OSError, MemoryError):
        raise
    except Exception as error:  # damaged bytes fail in many ways, in the readers below too
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        raise ModelError(f"{source} is damaged or cut short: fetch it again ({reason})") from error


def _convert(source: Path, directory: Path, observer: Observer) -> None:
    file = read(source)
    metadata = file.metadata
    _refuse_unknown(source, metadata)
    tensors = {_hugging_face_name(tensor.name): tensor for tensor in file.tensors}
    _refuse_incomplete(source, set(tensors), metadata)
    tied = _tie(tensors)
    config = _config(metadata, tensors, tied)
    heads = {}  # of the tensors whose rows llama.cpp permutes
    if config["model_type"] == "llama":
        heads["q_proj"] = config["num_attention_heads"]
        heads["k_proj"] = config["num_key_value_heads"]
    with open(directory / "model.safetensors", "wb") as out:
        _write_weights(out, tensors, heads, observer)
    _write_json(directory / "config.json", config)
    _write_json(
        directory / "generation_config.json",
        {
            "bos_token_id": config["bos_token_id"],
            "eos_token_id": end_tokens(metadata),
            "pad_token_id": config["pad_token_id"],
        },
    )
    write_tokenizer(metadata, directory)


def check_magic(source: Path) -> None:
    """Raise `ModelError` if ``source`` cannot be a GGUF file, from its first bytes."""
    with open(source, "rb") as file:
        if file.read(4) != b"GGUF":
            raise ModelError(f"{source} is not a GGUF file: it does not begin with 'GGUF'")


def _refuse_unknown(source: Path, metadata: Mapping[str, Any]) -> None:
    architecture = metadata.get("general.architecture")
    if architecture not in _CLASSES:
        raise ModelError(
            f"{source} holds a {architecture!r} model and only {', '.join(_CLASSES)} are "
            "understood: give it as a Hugging Face directory instead"
        )
    if metadata.get("split.count", 1) > 1:
        raise ModelError(f"{source} is one of several parts: join them with llama-gguf-split first")
    if metadata.get(f"{architecture}.rope.scaling.type", "none") != "none":
        raise ModelError(
            f"{source} scales its rotary positions, which is not understood: "
            "give the model as a Hugging Face directory instead"
        )
    if not {"tokenizer.ggml.tokens", "tokenizer.ggml.token_type"} <= metadata.keys():
        raise ModelError(f"{source} holds no tokenizer: give a GGUF file that does")


def _refuse_incomplete(source: Path, names: set[str], metadata: Mapping[str, Any]) -> None:
    """Transformers fills weights that are missing with random numbers, and only warns."""
    architecture = metadata["general.architecture"]
    parts = {f"{part}.weight" for part in _LAYER_NAMES.values() if not part.endswith("_norm")}
    parts |= {"input_layernorm.weight", "post_attention_layernorm.weight"}
    if architecture == "qwen2":
        parts |= {f"self_attn.{part}_proj.bias" for part in "qkv"}
    if architecture == "qwen3":
        parts |= {"self_attn.q_norm.weight", "self_attn.k_norm.weight"}
    layers = range(metadata.get(f"{architecture}.block_count", 0))
    needed = {f"model.layers.{layer}.{part}" for layer in layers for part in parts}
    needed |= {"model.embed_tokens.weight", "model.norm.weight"}
    odd = sorted(needed - names) or sorted(names - needed - {"lm_head.weight"})
    if odd:
        word = "lacks" if odd[0] in needed else "has an unexpected"
        raise ModelError(f"{source} {word} {odd[0]}: give another GGUF file of the model")


def _hugging_face_name(name: str) -> str:
    if match := re.fullmatch(r"blk\.(\d+)\.(\w+)\.(weight|bias)", name):
        layer, part, kind = match.groups()
        if part in _LAYER_NAMES:
            return f"model.layers.{layer}.{_LAYER_NAMES[part]}.{kind}"
    elif match := re.fullmatch(r"(\w+)\.(weight|bias)", name):
        part, kind = match.groups()
        if part in _NAMES:
            return f"{_NAMES[part]}.{kind}"
    raise ModelError(
        f"tensor {name!r} is not understood: give the model as a Hugging Face directory instead"
    )


def _tie(tensors: dict[str, Tensor]) -> bool:
    """Whether embeddings are tied; if so, the finer of two copies stays, as the embedding.

    Quantisers store a tied matrix twice, at two precisions. Two copies of one matrix differ by a
    few per cent (at most 15 at four bits); two trained matrices by more than their own size.
    """
    output = tensors.get("lm_head.weight")
    if output is None:
        return True
    embedding = tensors["model.embed_tokens.weight"]
    if output.shape != embedding.shape:
        return False
    first, second = (next(_blocks(tensor)) for tensor in (embedding, output))
    if np.linalg.norm(first - second) > 0.25 * np.linalg.norm(second):
        return False
    finer = max(embedding, output, key=lambda tensor: tensor.data.size)
    tensors["model.embed_tokens.weight"] = finer
    del tensors["lm_head.weight"]
    return True


def _config(
    metadata: Mapping[str, Any], tensors: Mapping[str, Tensor], tied: bool
) -> dict[str, Any]:
    architecture = metadata["general.architecture"]

    def of(key: str, default: Any = None) -> Any:
        value = metadata.get(f"{architecture}.{key}", default)
        if value is None:
            raise ModelError(f"this GGUF file does not say its {architecture}.{key}: it is damaged")
        return value

    hidden, heads = of("embedding_length"), of("attention.head_count")
    return {
        "architectures": [_CLASSES[architecture]],
        "model_type": architecture,
        "vocab_size": tensors["model.embed_tokens.weight"].shape[0],
        "hidden_size": hidden,
        "intermediate_size": of("feed_forward_length"),
        "num_hidden_layers": of("block_count"),
        "num_attention_heads": heads,
        "num_key_value_heads": of("attention.head_count_kv", heads),
        "head_dim": of("attention.key_length", hidden // heads),
        "hidden_act": "silu",
        "max_position_embeddings": of("context_length"),
        "rms_norm_eps": _float32(of("attention.layer_norm_rms_epsilon")),
        "rope_theta": _float32(of("rope.freq_base", 10000.0)),
        "attention_bias": False,  # of Llama and Qwen3; Qwen2 always has q, k and v biases
        "tie_word_embeddings": tied,
        "bos_token_id": metadata.get("tokenizer.ggml.bos_token_id"),
        "eos_token_id": metadata.get("tokenizer.ggml.eos_token_id"),
        "pad_token_id": metadata.get("tokenizer.ggml.padding_token_id"),
        "torch_dtype": "bfloat16",
    }


def _float32(value: float) -> float:
    """The shortest decimal that is this float32: 1e-06, not 9.999999974752427e-07."""
    return float(str(np.float32(value)))


def _blocks(tensor: Tensor) -> Iterator[NDArray[np.float32]]:
    """The tensor in float32, some rows at a time; a vector whole."""
    from gguf.quants import dequantize

    step = max(1, _BLOCK // tensor.shape[-1])
    for start in range(0, len(tensor.data), step):
        yield dequantize(tensor.data[start : start + step], tensor.kind)


def _unpermute(rows: NDArray[np.float32], heads: int) -> NDArray[np.float32]:
    """Undo llama.cpp's order of query and key rows.

    It interleaves the two halves of each head (pairs that rotate together become neighbours);
    transformers keeps the halves apart.
    """
    half = rows.shape[0] // heads // 2
    return rows.reshape(heads, half, 2, -1).swapaxes(1, 2).reshape(rows.shape)


def _write_weights(
    out: BinaryIO, tensors: Mapping[str, Tensor], heads: Mapping[str, int], observer: Observer
) -> None:
    """Safetensors: length of the header, header, then the tensors in bf16, end to end."""
    import torch

    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    end = 0
    for name, tensor in tensors.items():
        start, end = end, end + 2 * tensor.size
        header[name] = {"dtype": "BF16", "shape": tensor.shape, "data_offsets": [start, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    out.write(len(text).to_bytes(8, "little") + text)

    done = 0
    for name, tensor in tensors.items():
        count = heads.get(name.split(".")[-2])
        blocks: Iterator[NDArray[np.float32]] = _blocks(tensor)
        if count is not None:  # whole heads are needed
            blocks = iter([_unpermute(np.concatenate(list(blocks)), count)])
        for block in blocks:
            half = torch.from_numpy(np.require(block, requirements="W")).to(torch.bfloat16)
            out.write(half.view(torch.int16).numpy().data)
            done += 2 * block.size
            observer(Progress("dequantise", done, end))


def _write_json(path: Path, content: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
