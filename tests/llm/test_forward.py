"""The forward pass against transformers' own, in float32 so that nothing hides in rounding."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import transformers

from coevo.llm.forward import Forward, Span
from coevo.llm.kv import KVCache
from tests.llm import tiny


@pytest.fixture(params=["qwen2", "qwen3", "llama", "mistral"])
def model(request: pytest.FixtureRequest, tmp_path: Path) -> object:
    path = tiny.make(tmp_path, request.param, tied=request.param != "llama")
    return transformers.AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32).eval()


@torch.inference_mode()
def test_it_computes_what_transformers_computes(model: object) -> None:
    forward = Forward(model)
    forward.pack()
    a, b = torch.randint(0, 256, (1, 150)), torch.randint(0, 256, (1, 70))
    cache = KVCache(forward.shape, 3, 10, torch.float32)
    forward.read([Span(0, 0, a[0, :90].tolist()), Span(1, 0, b[0, :68].tolist())], cache)
    forward.read([Span(0, 90, a[0, 90:148].tolist())], cache)
    first = forward.step(torch.stack([a[0, 148], b[0, 68]]), torch.tensor([148, 68]), cache)
    second = forward.step(torch.stack([a[0, 149], b[0, 69]]), torch.tensor([149, 69]), cache)
    for row, tokens in enumerate((a, b)):
        expected = model(tokens).logits[0, -2:]
        got = torch.stack([first[row], second[row]])
        torch.testing.assert_close(got, expected, atol=2e-4, rtol=2e-4)


@torch.inference_mode()
def test_bf16_differs_from_float32_no_more_than_transformers_does(model: object) -> None:
    torch.manual_seed(1)
    prompts = torch.randint(0, 256, (8, 100))
    expected = model(prompts).logits[:, -1]
    model.to(torch.bfloat16)
    theirs = model(prompts).logits[:, -1].float()
    forward = Forward(model)
    forward.pack()
    cache = KVCache(forward.shape, 8, 100, torch.bfloat16)
    forward.read([Span(i, 0, prompt[:-1].tolist()) for i, prompt in enumerate(prompts)], cache)
    ours = forward.step(prompts[:, -1], torch.full((8,), 99), cache).float()
    assert (ours - expected).norm() < 1.3 * (theirs - expected).norm()


@torch.inference_mode()
def test_keys_do_not_depend_on_how_a_prompt_was_split(model: object) -> None:
    model.to(torch.bfloat16)
    forward = Forward(model)
    forward.pack()
    tokens = torch.randint(0, 256, (200,)).tolist()
    cache = KVCache(forward.shape, 3, 200, torch.bfloat16)
    forward.read([Span(0, 0, tokens)], cache)
    forward.read([Span(1, 0, tokens[:77])], cache)
    forward.read([Span(1, 77, tokens[77:]), Span(2, 0, tokens[:130])], cache)
    whole = cache.data[:, :, 0]
    assert torch.equal(cache.data[:, :, 1], whole)
    assert torch.equal(cache.data[:, :, 2, :, :130], whole[:, :, :, :130])


def test_another_architecture_is_refused_with_what_to_do() -> None:
    config = transformers.GPT2Config(n_layer=1, n_embd=16, n_head=2, vocab_size=50)
    with pytest.raises(ValueError, match="use another model"):
        Forward(transformers.GPT2LMHeadModel(config))
