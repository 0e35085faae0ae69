"""Every verb, as a user types it: what it prints, and the exit codes that scripts rely on."""

from __future__ import annotations

import json
import signal
import subprocess
import time

import pytest

from coevo.problems.tsp import BASELINES

NEAREST = BASELINES["nearest neighbour"]


@pytest.mark.parametrize(
    "verb", [[], ["run"], ["resume"], ["show"], ["eval"], ["doctor"], ["models", "list"]]
)
def test_every_verb_explains_itself(coevo, verb):
    ran = coevo(*verb, "--help")
    assert ran.returncode == 0
    assert "Usage" in ran.stdout


@pytest.fixture
def finished(coevo):
    ran = coevo(*coevo.scripted("--budget", 40))
    assert ran.returncode == 0, ran.stderr
    return coevo, ran.stdout, coevo.runs()[0]


def test_a_run_says_what_it_does_and_what_came_of_it(finished):
    _, output, path = finished
    for expected in (
        "no language model",  # what the scripted backend must say of itself
        "all stand",
        "limits    budget 40",
        "seed      1",
        "nearest neighbour, 4.55892",
        "40/40 attempts",
        "ended: budget of 40 attempts spent",
        "train     4.12038, -9.62%",
        "test      4.16557",
        f"coevo resume {path.relative_to(path.parent.parent)}",
    ):
        assert expected in output
    best = json.loads((path / "best" / "best.json").read_text())
    assert best["train"] == pytest.approx(4.12038, abs=1e-5)
    assert best["test"] == pytest.approx(4.16557, abs=1e-5)
    assert "def select_next_node" in (path / "best" / "heuristic.py").read_text()


def test_show_for_people_and_programs(finished):
    coevo, _, path = finished
    assert "40 of 40 attempts" in coevo("show", path).stdout
    assert "def select_next_node" in coevo("show", path, "--code").stdout
    summary = json.loads(coevo("show", path, "--json").stdout)
    assert summary["attempts"] == sum(summary["stages"].values()) == 40
    assert summary["valid"] == summary["stages"]["scored"]
    assert summary["best"]["objective"] == pytest.approx(4.12038, abs=1e-5)
    assert summary["curve"][-1][1] == summary["best"]["objective"]


def test_resume_with_a_larger_budget(finished):
    coevo, _, path = finished
    ran = coevo("resume", path, "--budget", 70)
    assert ran.returncode == 0, ran.stderr
    assert json.loads(coevo("show", path, "--json").stdout)["attempts"] == 70


def test_resume_of_a_finished_run_changes_nothing(finished):
    coevo, _, path = finished
    before = coevo("show", path, "--json").stdout
    assert coevo("resume", path).returncode == 0
    assert coevo("show", path, "--json").stdout == before


def test_a_runs_own_settings_repeat_it(finished):
    coevo, _, path = finished
    assert coevo("run", "--config", path / "config.toml").returncode == 0
    first, second = (
        {**json.loads(coevo("show", p, "--json").stdout), "path": "", "seconds": 0}
        for p in coevo.runs()
    )
    assert first == second


def test_eval(coevo, tmp_path):
    heuristic = tmp_path / "nearest.py"
    heuristic.write_text(NEAREST)
    ran = coevo("eval", heuristic, "--problem", "tsp", "--n", 50, "--split", "train", "--json")
    assert ran.returncode == 0, ran.stderr
    record = json.loads(ran.stdout)
    assert record["objective"] == pytest.approx(7.004369798987, abs=1e-9)
    assert record["gap"] == 0
    assert "7.004370" in coevo("eval", heuristic, "--split", "train").stdout


@pytest.mark.parametrize(
    ("source", "stage"),
    [
        ("", "signature"),
        ("def select_next_node(a, b, c, d):\n    return b\n", "infeasible"),
        ("def select_next_node(a, b, c, d):\n    return 'x'\n", "output"),
        ("import os\n" + NEAREST, "unsafe"),
        ("def select_next_node(", "compile"),
        (NEAREST.replace("select", "choose"), "signature"),
    ],
)
def test_eval_of_an_invalid_heuristic(coevo, tmp_path, source, stage):
    heuristic = tmp_path / "h.py"
    heuristic.write_text(source)
    ran = coevo("eval", heuristic, "--split", "train", "--count", 4)
    assert ran.returncode == 1
    assert f"ends as {stage}" in ran.stderr
    assert json.loads(coevo("eval", heuristic, "--count", 4, "--json").stdout)["stage"] == stage


def test_doctor(coevo):
    assert coevo("doctor").returncode == 0
    report = json.loads(coevo("doctor", "--json").stdout)
    assert all(wall["stands"] for wall in report["walls"])
    assert report["machine"]["cores"] >= 1


def test_models(coevo, tmp_path, monkeypatch):
    monkeypatch.setenv("COEVO_HOME", str(tmp_path / "empty"))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    rows = {row["name"]: row for row in json.loads(coevo("models", "list", "--json").stdout)}
    assert not rows["qwen2.5-coder-0.5b"]["pulled"]
    assert rows["smollm2-135m"]["licence"] == "Apache-2.0"
    ran = coevo("models", "path", "smollm2-135m")
    assert ran.returncode == 1
    assert "coevo models pull smollm2-135m" in ran.stderr


WRONG = [
    (["run", "--problem", "tps"], "did you mean 'tsp'"),
    (["run", "--n", 2], "at least 3 nodes"),
    (["run", "--budget", 0], "--budget must be at least 1"),
    (["run", "--max-seconds", -1], "--max-seconds must be at least 1"),
    (["run", "--batch", 0], "--batch must be"),
    (["run", "--workers", 0], "--workers must be"),
    (["run", "--seed", -1], "--seed must be"),
    (["run", "--timeout", 0], "seconds must be above 0"),
    (["run", "--llm", "gpt"], "choose one of: transformers, scripted"),
    (["run", "--search", "tabu"], "choose one of: eoh, sampling"),
    (["run", "--es", "some"], "--es"),
    (["run", "--budgte", 5], "--budgte"),
    (["run", "--budget", "many"], "--budget"),
    (["run", "--config", "missing.toml"], "missing.toml"),
    (["run", "--llm", "scripted", "--model", "missing.jsonl"], "missing.jsonl"),
    (["run", "--llm", "scripted", "--es", "lowrank"], "add --es none"),
    (["resume", "nowhere"], "no run is at nowhere"),
    (["show", "."], "no run is at ."),
    (["eval", "missing.py"], "missing.py"),
    (["eval", ".", "--n", 50], "cannot read ."),
    (["frobnicate"], "frobnicate"),
]


@pytest.mark.parametrize(("arguments", "message"), WRONG, ids=lambda x: str(x)[:40])
def test_wrong_usage_is_one_clear_line_and_exit_code_2(coevo, arguments, message):
    if "--es" in arguments and "scripted" in arguments:
        arguments = [*coevo.scripted(), "--es", "lowrank"]
    elif arguments[0] == "run" and "--llm" not in arguments:
        arguments = [*coevo.scripted(), *arguments[1:]]
    ran = coevo(*arguments)
    assert ran.returncode == 2, ran.stderr
    assert message in ran.stderr
    assert "Traceback" not in ran.stderr
    assert not (coevo.directory / "runs").exists()


def test_an_unknown_model_names_the_known_ones(coevo):
    ran = coevo("run", "--model", "qwen-coder")
    assert ran.returncode == 1
    assert "qwen2.5-coder-0.5b" in ran.stderr
    assert "Traceback" not in ran.stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("seed = 1\ncolour = 'red'", "no setting is called 'colour'"),
        ("seed = 'one'", "seed must be int"),
        ("seed = 1\nbudget = true", "budget must be int"),
        ("", "seed is missing"),
        ("seed = ", "is not TOML"),
        ("seed = 1\nsampling = 3", "sampling must be a table"),
        ("seed = 1\n[es]\nkind = 'some'", "kind must be one of"),
        ("seed = 1\n[es]\nsigma = -1.0", "sigma"),
        ("seed = 1\n[search_settings]\npopulatoin = 3", "populatoin"),
    ],
)
def test_wrong_settings_name_the_setting(coevo, text, message):
    (coevo.directory / "c.toml").write_text(text)
    arguments = coevo.scripted()
    arguments = [a for a in arguments if a not in ("--seed", 1)]
    ran = coevo(*arguments, "--config", "c.toml")
    assert ran.returncode == 2, ran.stdout
    assert message in ran.stderr


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"reply": 3}', "\x00\x01", '{"reply": "a"'])
def test_a_bad_script_is_refused(coevo, content):
    script = coevo.directory / "script.jsonl"
    script.write_text(content)
    ran = coevo("run", "--llm", "scripted", "--model", script)
    assert ran.returncode == 2
    assert "script.jsonl" in ran.stderr


def test_nothing_valid_is_a_failure(coevo):
    (coevo.directory / "garbage.jsonl").write_text('{"reply": "\\u001b[2J I am sorry"}\n')
    ran = coevo("run", "--llm", "scripted", "--model", "garbage.jsonl", "--budget", 30)
    assert ran.returncode == 1
    assert "no attempt was valid" in ran.stdout
    assert "\x1b" not in ran.stdout


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_runs_end_cleanly_and_resume(coevo, number):
    process = coevo.start(*coevo.scripted("--budget", 100_000))
    deadline = time.time() + 60
    while time.time() < deadline and "/100000 attempts" not in (process.stdout.readline()):
        pass
    process.send_signal(number)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "coevo resume" in errors
    assert "Traceback" not in errors
    path = coevo.runs()[0]
    done = json.loads(coevo("show", path, "--json").stdout)["attempts"]
    assert coevo("resume", path, "--budget", done + 50).returncode == 0


def test_a_full_disk_costs_nothing_but_time(coevo):
    small = coevo.directory / "small"
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=300k", "none", str(small)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("only root may make a small disk")
    try:
        ran = coevo(*coevo.scripted("--budget", 2000, "--runs", small))
        assert ran.returncode == 1
        assert "Traceback" not in ran.stderr
        assert "coevo resume" in ran.stderr
        path = next(small.iterdir())
        done = json.loads(coevo("show", path, "--json").stdout)["attempts"]
        subprocess.run(["mount", "-o", "remount,size=64m", str(small)], check=True)
        ran = coevo("resume", path, "--budget", done + 60)
        assert ran.returncode == 0, ran.stderr
    finally:
        subprocess.run(["umount", str(small)], check=True)


def test_two_processes_cannot_write_one_run(coevo):
    process = coevo.start(*coevo.scripted("--budget", 100_000))
    while "/100000 attempts" not in process.stdout.readline():
        pass
    ran = coevo("resume", coevo.runs()[0])
    process.kill()
    process.communicate()
    assert ran.returncode == 1
    assert "being written by another process" in ran.stderr


def test_two_runs_at_once_get_directories_of_their_own(coevo):
    processes = [coevo.start(*coevo.scripted("--budget", 30)) for _ in range(2)]
    for process in processes:
        process.communicate(timeout=60)
        assert process.returncode == 0
    assert len(coevo.runs()) == 2
