"""The main job, small, on the default model, weights evolving: run, kill, resume, replay.

The first run fetches the model, half a GB; a download takes as long as it takes.
"""

from __future__ import annotations

import json
import os
import signal
import time

import pytest

from coevo.es import history
from coevo.llm.models import locate
from coevo.llm.transformers import TransformersModel
from coevo.store import RunStore
from tests.test_resume import content

MODEL = "qwen2.5-coder-0.5b"
JOB = ("run", "--model", MODEL, "--n", 20, "--budget", 28, "--seed", 4, "--timeout", 5)


@pytest.fixture(scope="module", autouse=True)
def model_path():
    return locate(MODEL)


@pytest.fixture
def small(coevo):
    """Settings that make a generation of eight."""
    (coevo.directory / "small.toml").write_text(
        "seed = 4\n[search_settings]\ninitial = 12\noffspring = 2\npopulation = 4\n"
        "[sampling]\nmax_new_tokens = 80\n"
    )
    return coevo


def run(coevo, *arguments):
    process = coevo.start(*JOB, "--config", "small.toml", *arguments)
    output, errors = process.communicate(timeout=400)
    assert process.returncode == 0, output + errors
    return output


def test_a_lowrank_run_killed_and_resumed_ends_as_the_one_that_was_not(small, model_path):
    output = run(small, "--es", "lowrank")
    assert "28/28 attempts" in output
    whole = small.runs()[0]
    summary = json.loads(small("show", whole, "--json").stdout)
    assert summary["valid"] >= 2
    assert summary["es_steps"] >= 1

    process = small.start(*JOB, "--config", "small.toml", "--es", "lowrank")
    for wanted in (12, 20):  # killed in the first generation after so many attempts are closed
        path = None
        while path is None or _closed(path) < wanted:
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.05)
            path = next(iter(small.runs()[1:]), None)
        time.sleep(1.0)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        process = small.start("resume", path)
    _, errors = process.communicate(timeout=400)
    assert process.returncode == 0, errors
    assert content(path) == content(whole)

    # the history alone rebuilds the weights
    records = history.load((whole / "es" / "history.json").read_text())
    model = TransformersModel(model_path, name=MODEL)
    base = model.digest()
    history.replay(records, model.apply, model.digest)
    assert model.digest() == records[-1]["digest_after"] != base


def test_a_full_run_moves_the_weights_too(small):
    run(small, "--es", "full", "--budget", 8)
    records = json.loads((small.runs()[0] / "es" / "history.json").read_text())["updates"]
    assert {record["kind"] for record in records} == {"full"}
    assert any(not record["skipped"] for record in records)


def _closed(path):
    if not (path / "run.db").exists():
        return 0
    store = RunStore.open(path / "run.db")
    try:
        return len(store.attempts()) if store.generations() else 0
    finally:
        store.close()
