"""The run's database: what is in it after a kill at any point."""

from __future__ import annotations

import sqlite3
from dataclasses import replace

import pytest

from coevo.attempt import Attempt, Prompt, Proposal, Stage
from coevo.store import RunStore, StoreError

PROPOSALS = [
    Proposal("i1", (), Prompt("write one", "be brief", "```python\n", "f")),
    Proposal("e2", (3, 5), Prompt("mix them", function="f")),
]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.db"


@pytest.fixture
def store(path):
    return RunStore.create(path)


def reopened(store):
    store.close()
    return RunStore.open(store.path)


def test_a_new_store_is_empty(store):
    assert store.attempts() == []
    assert store.in_flight() is None
    assert store.last_state() is None
    assert store.generations() == 0
    assert store.seconds() == 0


def test_proposals_survive_before_anything_is_written(store):
    attempts = store.propose(0, PROPOSALS, [11, 2**62], 1e-3)
    flight = reopened(store).in_flight()
    assert flight.attempts == attempts
    assert [a.proposal for a in flight.attempts] == PROPOSALS
    assert [a.direction for a in flight.attempts] == [11, 2**62]
    assert (flight.written, flight.judged, flight.sigma) == (set(), set(), 1e-3)


def test_replies_and_verdicts_survive_one_by_one(store):
    attempts = store.propose(0, PROPOSALS, None, None)
    store.write_reply(1, "def f(): return 1", 7, 0.5)
    store = reopened(store)
    assert store.in_flight().written == {1}
    judged = replace(
        attempts[0],
        reply="def f(): return 1",
        tokens=7,
        write_s=0.5,
        code="def f(): return 1",
        idea="one",
        stage=Stage.SCORED,
        objective=6.5,
        evaluate_s=0.1,
    )
    store.write_verdict(judged)
    store = reopened(store)
    assert store.in_flight().judged == {1}
    assert store.attempts() == [judged]
    assert store.attempt(2).reply == ""


def test_an_empty_reply_is_a_reply(store):
    store.propose(0, PROPOSALS, None, None)
    store.write_reply(2, "", 0, 0.0)
    assert store.in_flight().written == {2}


def test_numbers_go_on_over_generations(store):
    store.propose(0, PROPOSALS, None, None)
    store.commit(0, 1.5, {"turn": 1})
    attempts = store.propose(1, PROPOSALS, None, None)
    assert [a.number for a in attempts] == [3, 4]
    store.commit(1, 2.0, {"turn": 2}, {"step": 1}, {"skipped": "no spread"})
    store = reopened(store)
    assert store.in_flight() is None
    assert store.last_state() == (1, {"turn": 2}, {"step": 1})
    assert store.updates() == [{"skipped": "no spread"}]
    assert store.generations() == 2
    assert store.seconds() == 3.5


def test_a_failed_commit_leaves_the_generation_in_flight(store):
    store.propose(0, PROPOSALS, None, None)
    with pytest.raises(TypeError):
        store.commit(0, 1.0, {"state": 1}, None, {"not JSON": object()})
    assert reopened(store).in_flight().number == 0


def test_text_that_is_not_unicode_is_kept(store):
    store.propose(0, PROPOSALS, None, None)
    store.write_reply(1, "a\ud800b\x00c", 3, 0.0)
    assert store.attempt(1).reply == "a?b\x00c"


@pytest.mark.parametrize("content", [b"", b"not a database", b"SQLite format 3\x00" + bytes(2000)])
def test_other_files_are_refused(path, content):
    path.write_bytes(content)
    with pytest.raises(StoreError, match=str(path)):
        RunStore.open(path)


def test_missing_and_existing_files(path, store):
    with pytest.raises(StoreError, match="exists already"):
        RunStore.create(path)
    with pytest.raises(StoreError, match="no run is at"):
        RunStore.open(path.parent / "nowhere" / "run.db")


def test_a_newer_format_is_refused(store):
    store.set_fact("format", "99")
    with pytest.raises(StoreError, match="format 99"):
        reopened(store)


def test_two_readers_and_a_writer(store):
    store.propose(0, PROPOSALS, None, None)
    reader = RunStore.open(store.path)
    store.write_reply(1, "x", 1, 0.0)
    assert reader.in_flight().written == {1}


def test_a_full_disk_is_an_error_not_a_loss(store):
    store.propose(0, PROPOSALS, None, None)
    pages = store._db.execute("PRAGMA page_count").fetchone()[0]
    store._db.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(sqlite3.OperationalError, match="full"):
        store.write_reply(1, "x" * 100_000, 1, 0.0)
    store = reopened(store)
    assert store.in_flight().written == set()


def test_attempt_that_does_not_exist(store):
    with pytest.raises(StoreError, match="attempt 9"):
        store.attempt(9)


def test_default_attempt_is_not_scored():
    assert not Attempt(1, 0, PROPOSALS[0]).scored
