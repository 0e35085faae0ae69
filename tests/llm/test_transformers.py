"""The backend as a whole, on tiny random models and, where it is on disk, on a real one."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors import safe_open

from coevo.attempt import Prompt
from coevo.es.directions import Directions, Update
from coevo.es.update import apply_full, apply_lowrank, master
from coevo.llm.base import Completion, EvolvableModel, Sampling
from coevo.llm.models import locate
from coevo.llm.transformers import TransformersModel
from tests.llm import tiny

SAMPLING = Sampling(max_new_tokens=24)
PROMPTS = [
    Prompt(
        f"Write function number {i // 2} for the travelling salesman", "Be brief, always.", "```\n"
    )
    for i in range(9)
]
SEEDS = list(range(100, 109))


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.make(tmp_path_factory.mktemp("tiny"))


@pytest.fixture
def model(path: Path) -> TransformersModel:
    return TransformersModel(path, name="tiny", batch=4)


def texts(completions: list[Completion]) -> list[str]:
    return [c.text for c in completions]


def test_the_same_arguments_give_the_same_completions(model: TransformersModel) -> None:
    first = model.generate(PROMPTS, SAMPLING, SEEDS)
    assert texts(first) == texts(model.generate(PROMPTS, SAMPLING, SEEDS))
    assert len(set(texts(first))) == 9
    for c in first:
        assert 1 <= c.tokens <= 24
        assert c.seconds > 0
        assert c.finish in ("stop", "eos", "length")


def test_they_are_the_same_in_another_process(model: TransformersModel, path: Path) -> None:
    here = texts(model.generate(PROMPTS, SAMPLING, SEEDS))
    program = (
        "import sys; from pathlib import Path; from tests.llm.test_transformers import *\n"
        "m = TransformersModel(Path(sys.argv[1]), name='tiny', batch=4)\n"
        "print(texts(m.generate(PROMPTS, SAMPLING, SEEDS)))"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", program, str(path)], cwd=root, capture_output=True, text=True
    )
    assert done.stdout.strip() == str(here), done.stderr


@pytest.mark.parametrize("directed", [False, True])
def test_a_completion_is_the_same_in_any_batch(
    model: TransformersModel, path: Path, directed: bool
) -> None:
    if not model.order_free:
        pytest.skip("this CPU's kernels round differently for other numbers of rows")
    directions = Directions("lowrank", tuple(range(9)), 0.05, 2) if directed else None
    together = texts(model.generate(PROMPTS, SAMPLING, SEEDS, directions))
    other = TransformersModel(path, name="tiny", batch=32)
    assert texts(other.generate(PROMPTS, SAMPLING, SEEDS, directions)) == together
    for i in (0, 3, 8):
        own = Directions("lowrank", (i,), 0.05, 2) if directed else None
        assert texts(other.generate([PROMPTS[i]], SAMPLING, [SEEDS[i]], own)) == [together[i]]


def test_on_completion_tells_of_each_once(model: TransformersModel) -> None:
    told: dict[int, Completion] = {}
    done = model.generate(PROMPTS, SAMPLING, SEEDS, on_completion=told.__setitem__)
    assert [told[i] for i in range(9)] == done


def test_no_prompts_no_completions(model: TransformersModel) -> None:
    assert model.generate([], SAMPLING, []) == []


def test_numbers_of_seeds_and_directions_are_checked(model: TransformersModel) -> None:
    with pytest.raises(ValueError, match="one seed per prompt: 2 for 9"):
        model.generate(PROMPTS, SAMPLING, [1, 2])
    with pytest.raises(ValueError, match="one direction per prompt: 1 for 9"):
        model.generate(PROMPTS, SAMPLING, SEEDS, Directions("lowrank", (1,), 0.1))


def test_lowrank_directions_change_the_text_and_not_the_weights(model: TransformersModel) -> None:
    base, digest = texts(model.generate(PROMPTS, SAMPLING, SEEDS)), fresh_digest(model)
    directions = Directions("lowrank", tuple(range(9)), 0.1)
    moved = texts(model.generate(PROMPTS, SAMPLING, SEEDS, directions))
    assert sum(a != b for a, b in zip(base, moved, strict=True)) >= 6
    still = replace(directions, sigma=0.0)
    assert texts(model.generate(PROMPTS, SAMPLING, SEEDS, still)) == base
    assert fresh_digest(model) == digest


def test_scope_all_reads_prompts_under_the_direction(path: Path) -> None:
    model = TransformersModel(path, name="tiny", batch=4, scope="all")
    directions = Directions("lowrank", tuple(range(9)), 0.1)
    everything = texts(model.generate(PROMPTS, SAMPLING, SEEDS, directions))
    model.scope = "reply"
    assert texts(model.generate(PROMPTS, SAMPLING, SEEDS, directions)) != everything


def test_full_directions_are_put_back_exactly(model: TransformersModel) -> None:
    base, digest = texts(model.generate(PROMPTS, SAMPLING, SEEDS)), fresh_digest(model)
    directions = Directions("full", (1, 2, 3) * 3, 0.05)
    moved = model.generate(PROMPTS, SAMPLING, SEEDS, directions)
    assert sum(a != b for a, b in zip(base, texts(moved), strict=True)) >= 6
    assert fresh_digest(model) == digest
    assert texts(model.generate(PROMPTS, SAMPLING, SEEDS)) == base


def test_full_directions_are_put_back_when_interrupted(model: TransformersModel) -> None:
    digest = fresh_digest(model)

    def interrupt(i: int, completion: Completion) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        model.generate(
            PROMPTS, SAMPLING, SEEDS, Directions("full", tuple(range(9)), 0.05), interrupt
        )
    assert fresh_digest(model) == digest


def test_a_full_direction_is_the_model_at_theta_plus_sigma_epsilon(
    model: TransformersModel, path: Path
) -> None:
    from coevo.es.update import perturb_full

    written = texts(model.generate(PROMPTS, SAMPLING, SEEDS, Directions("full", (7,) * 9, 0.03)))
    moved = TransformersModel(path, name="moved", batch=4)
    for name, weight in moved.parameters().items():
        perturb_full(weight.view(torch.uint16).numpy(), 7, name, 0.03)
    moved._changed()
    assert texts(moved.generate(PROMPTS, SAMPLING, SEEDS)) == written


@pytest.mark.parametrize("kind", ["lowrank", "full"])
def test_updates_move_the_masters_exactly(model: TransformersModel, kind: str) -> None:
    update = Update(kind, (1, 2, 3), (1.0, -1.5, 0.5), alpha=5e-4, sigma=1e-3)
    before = {name: weight.clone() for name, weight in model.parameters().items()}
    base, digest = texts(model.generate(PROMPTS, SAMPLING, SEEDS)), model.digest()
    for _ in range(3):
        model.apply(update)
    assert model.digest() != digest
    land = apply_lowrank if kind == "lowrank" else apply_full
    for name, weight in model.parameters().items():
        bits = before[name].view(torch.uint16).numpy()
        residual = np.zeros(bits.shape, np.int16)
        moves = kind == "full" or ("layers" in name and "proj" in name and weight.ndim == 2)
        if moves:
            for _ in range(3):
                land(bits, residual, update, name)
        assert np.array_equal(weight.view(torch.uint16).numpy(), bits), name
        if moves:
            held = model.residuals[name].numpy()
            assert np.array_equal(master(bits, held), master(bits, residual)), name
    big = replace(update, alpha=0.3)
    model.apply(big)
    assert texts(model.generate(PROMPTS, SAMPLING, SEEDS)) != base


def test_the_same_updates_give_the_same_digest(model: TransformersModel, path: Path) -> None:
    other = TransformersModel(path, name="other", batch=2)
    assert other.digest() == model.digest()
    update = Update("lowrank", (1, 2), (1.0, -1.0), 1e-7, 1e-3)  # far below a bf16 ulp
    model.apply(update)
    assert other.digest() != model.digest()
    other.apply(update)
    assert other.digest() == model.digest()
    other.apply(replace(update, skipped="equal rewards"))
    assert other.digest() == model.digest()


def test_save_keeps_weights_and_ties(model: TransformersModel, tmp_path: Path) -> None:
    model.apply(Update("full", (1, 2), (1.0, -1.0), 0.02, 1e-3))
    model.save(tmp_path)
    with safe_open(tmp_path / "model.safetensors", "pt") as saved:
        assert "lm_head.weight" not in saved.keys()  # noqa: SIM118
    again = TransformersModel(tmp_path, name="again", batch=4)
    assert texts(again.generate(PROMPTS, SAMPLING, SEEDS)) == texts(
        model.generate(PROMPTS, SAMPLING, SEEDS)
    )


def test_it_is_evolvable(model: TransformersModel) -> None:
    assert isinstance(model, EvolvableModel)


def test_prompts_are_encoded_in_the_chat_format(model: TransformersModel) -> None:
    prompt = Prompt("Hi", "Sys", "```python\ndef")
    assert model.tokenizer.decode(model.encode(prompt)) == (
        "<|im_start|>system\nSys<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n"
        "<|im_start|>assistant\n```python\ndef"
    )


def test_a_model_without_a_chat_format_gets_plain_text(tmp_path: Path) -> None:
    model = TransformersModel(tiny.make(tmp_path, "llama", chat=False), name="plain")
    prompt = Prompt("Hi", "Sys", "def")
    assert model.tokenizer.decode(model.encode(prompt)) == "Sys\n\nHi\n\ndef"
    assert len(model.generate([prompt] * 3, SAMPLING, [1, 2, 3])) == 3


def fresh_digest(model: TransformersModel) -> str:
    model._digest = ""  # take it from the weights, not from memory
    return model.digest()


def test_a_real_model_writes_and_repeats_itself() -> None:
    path = locate("smollm2-135m")
    begun = "```python\ndef add(a, b):\n    return"
    prompts = [
        Prompt(f"Write a function that adds {i} numbers.", "", begun, "add") for i in (2, 3)
    ] * 2
    sampling = Sampling(max_new_tokens=40, temperature=0.3)
    model = TransformersModel(path, name="smollm2-135m", batch=4, threads=2)
    together = model.generate(prompts, sampling, [1, 2, 3, 4])
    assert any("a + b" in c.text for c in together)
    assert texts(model.generate(prompts, sampling, [1, 2, 3, 4])) == texts(together)
    if model.order_free:  # not where kernels round differently for other numbers of rows
        alone = TransformersModel(path, name="alone", batch=1)
        assert texts(alone.generate(prompts[1:2], sampling, [2])) == texts(together[1:2])
