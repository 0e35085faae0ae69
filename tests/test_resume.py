"""A run that is killed at random moments ends as the run that never was."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import time

import pytest

COLUMNS = (
    "number, generation, operator, parents, user, begun, direction, reply, tokens, code, idea,"
    " stage, message, objective"
)


def content(path):
    """Everything in a run's database but the seconds."""
    with sqlite3.connect(path / "run.db") as db:
        attempts = db.execute(f"SELECT {COLUMNS} FROM attempts ORDER BY number").fetchall()
        states = db.execute("SELECT number, sigma, search, strategy FROM generations").fetchall()
        updates = db.execute("SELECT * FROM updates").fetchall()
    return attempts, states, updates


@pytest.fixture
def whole(coevo):
    assert coevo(*coevo.scripted("--budget", 200)).returncode == 0
    return content(coevo.runs()[0])


def test_same_seed_same_run(coevo, whole):
    assert coevo(*coevo.scripted("--budget", 200)).returncode == 0
    assert content(coevo.runs()[1]) == whole


def test_other_seed_other_run(coevo, whole):
    assert coevo(*coevo.scripted("--budget", 200, "--seed", 2)).returncode == 0
    assert content(coevo.runs()[1]) != whole


def test_killed_ten_times_and_resumed_is_the_same_run(coevo, whole):
    moments = random.Random(7)
    process = coevo.start(*coevo.scripted("--budget", 200))
    path = None
    for _ in range(10):
        while path is None or not (path / "run.db").exists():
            time.sleep(0.01)
            path = next(iter(coevo.runs()[1:]), None) if (coevo.directory / "runs") else None
            assert process.poll() is None, process.stderr.read()
        time.sleep(moments.uniform(0.0, 2.5))
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        process = coevo.start("resume", path)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert content(path) == whole


def test_extended_runs_go_on_where_they_stopped(coevo, whole):
    assert coevo(*coevo.scripted("--budget", 60)).returncode == 0  # i1 and one generation
    path = coevo.runs()[1]
    assert coevo("resume", path, "--budget", 200).returncode == 0
    assert content(path) == whole


def test_a_changed_database_is_refused(coevo, whole):
    path = coevo.runs()[0]
    with sqlite3.connect(path / "run.db") as db:
        last = db.execute("SELECT MAX(number) FROM generations").fetchone()[0]
        db.execute("UPDATE generations SET search = NULL WHERE number = ?", (last,))
        db.execute("UPDATE attempts SET user = 'another prompt' WHERE generation = ?", (last,))
    ran = coevo("resume", path)
    assert ran.returncode == 1
    assert "another version" in ran.stderr
