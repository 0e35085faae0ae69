from __future__ import annotations

import contextlib

import gguf
import numpy as np
import pytest
import torch
from gguf.quants import dequantize
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, AutoTokenizer

from coevo.llm.gguf import convert
from coevo.llm.model_error import ModelError
from tests.llm import gguf_writer, tiny
from tests.llm.gguf_writer import Type


def converted(source, tmp_path):
    directory = tmp_path / "converted"
    directory.mkdir()
    convert(source, directory)
    return directory


@pytest.fixture(scope="module")
def wide(tmp_path_factory):
    """A model whose rows hold whole blocks of 256, as K quantisation needs."""
    path = tmp_path_factory.mktemp("wide")
    from unittest.mock import patch

    with patch.dict(tiny.SIZES, hidden_size=256, intermediate_size=512, head_dim=64):
        return tiny.make(path, "llama")


@pytest.mark.parametrize("tied", [True, False], ids=["tied", "untied"])
@pytest.mark.parametrize("kind", ["llama", "qwen2", "qwen3"])
def test_a_converted_model_computes_what_the_original_does(kind, tied, tmp_path):
    original = tiny.make(tmp_path / "original", kind, tied=tied)
    directory = converted(gguf_writer.write(original, tmp_path / "model.gguf"), tmp_path)
    tokens = torch.arange(40)[None]
    first, second = (
        AutoModelForCausalLM.from_pretrained(path, dtype=torch.bfloat16)
        for path in (original, directory)
    )
    assert torch.equal(first(tokens).logits, second(tokens).logits)
    assert sum(p.numel() for p in first.parameters()) == sum(p.numel() for p in second.parameters())


@pytest.mark.parametrize(
    "kind", [Type.Q4_K, Type.Q6_K, Type.Q4_1, Type.Q8_0, Type.Q5_0, Type.F16, Type.F32]
)
def test_every_quantisation_is_read_as_the_gguf_package_reads_it(kind, wide, tmp_path):
    source = gguf_writer.write(wide, tmp_path / "model.gguf", kind)
    weights = load_file(converted(source, tmp_path) / "model.safetensors")
    read = {t.name: t for t in gguf.GGUFReader(source).tensors}
    for theirs, ours in (
        ("token_embd.weight", "model.embed_tokens.weight"),
        ("blk.1.ffn_down.weight", "model.layers.1.mlp.down_proj.weight"),
        ("blk.2.attn_v.weight", "model.layers.2.self_attn.v_proj.weight"),
    ):
        tensor = read[theirs]
        assert tensor.tensor_type is kind
        whole = torch.from_numpy(np.array(dequantize(tensor.data, kind))).to(torch.bfloat16)
        assert torch.equal(whole, weights[ours])
    query = dequantize(read["blk.0.attn_q.weight"].data, kind)
    restored = weights["model.layers.0.self_attn.q_proj.weight"].float().numpy()
    again = torch.from_numpy(np.array(query)).to(torch.bfloat16).float().numpy()
    assert np.array_equal(gguf_writer.permute(restored, 4), again)


def test_a_tied_matrix_that_is_stored_twice_is_written_once_from_the_finer_copy(wide, tmp_path):
    source = gguf_writer.write(wide, tmp_path / "model.gguf", Type.Q4_1, output=Type.Q8_0)
    weights = load_file(converted(source, tmp_path) / "model.safetensors")
    assert "lm_head.weight" not in weights
    tensor = next(t for t in gguf.GGUFReader(source).tensors if t.name == "output.weight")
    finer = torch.from_numpy(dequantize(tensor.data, tensor.tensor_type)).to(torch.bfloat16)
    assert torch.equal(weights["model.embed_tokens.weight"], finer)


def test_the_tokenizer_reads_writes_and_chats_as_the_original(tmp_path):
    original = tiny.make(tmp_path / "original")
    source = gguf_writer.write(original, tmp_path / "model.gguf", padding=5)
    first, second = map(AutoTokenizer.from_pretrained, (original, converted(source, tmp_path)))
    text = "<|im_start|>def tour(x):\n\treturn x[:, 1] # não, 您好 😀 12345\r\n<|im_end|>"
    assert first(text).input_ids == second(text).input_ids
    assert second.decode(second(text).input_ids) == text
    assert second.eos_token == "<|im_end|>"
    assert len(first) == len(second)  # padding of the vocabulary is no token
    chat = [{"role": "user", "content": "hello"}]
    assert second.apply_chat_template(chat, tokenize=False) == first.apply_chat_template(
        chat, tokenize=False
    )


@pytest.mark.parametrize(
    ("extra", "said"),
    [
        ({"architecture": "gemma"}, "'gemma'"),
        ({"tokenizer": "llama"}, "byte-level BPE"),
        ({"pre": "strange"}, "'strange'"),
        ({"scaling": "yarn"}, "rotary"),
        ({"tensor": "rope_freqs.weight"}, "rope_freqs"),
    ],
)
def test_what_is_not_understood_is_refused_in_one_line(extra, said, tmp_path):
    source = gguf_writer.write(tiny.make(tmp_path / "m"), tmp_path / "model.gguf", extra=extra)
    with pytest.raises(ModelError, match=said) as caught:
        converted(source, tmp_path)
    assert "\n" not in str(caught.value)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("whole")
    return gguf_writer.write(tiny.make(path / "m"), path / "model.gguf").read_bytes()


@pytest.mark.parametrize("share", [0.0, 0.00001, 0.001, 0.01, 0.02, 0.1, 0.5, 0.9, 0.9999])
def test_a_file_cut_short_is_refused(share, whole, tmp_path):
    source = tmp_path / "cut.gguf"
    source.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(ModelError):
        converted(source, tmp_path)


def test_a_file_without_all_of_its_weights_is_refused(tmp_path):
    original = tiny.make(tmp_path / "m")
    config = original / "config.json"
    config.write_text(
        config.read_text().replace('"num_hidden_layers": 3', '"num_hidden_layers": 4')
    )
    with pytest.raises(ModelError, match=r"lacks model\.layers\.3\."):
        converted(gguf_writer.write(original, tmp_path / "model.gguf"), tmp_path)


def test_changed_bytes_are_refused_or_read_but_never_crash(whole, tmp_path):
    random = np.random.default_rng(1)
    source, directory = tmp_path / "changed.gguf", tmp_path / "converted"
    directory.mkdir()
    for _ in range(40):
        data = bytearray(whole)
        for _ in range(8):
            data[random.integers(0, 12000)] = random.integers(0, 256)
        source.write_bytes(data)
        with contextlib.suppress(ModelError):
            convert(source, directory)
