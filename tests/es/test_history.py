from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.es.directions import Update
from coevo.es.history import HistoryError, Step, dump, load, read_records, replay, update_record

finite = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def updates(draw: st.DrawFn) -> Update:
    pairs = draw(st.lists(st.tuples(st.integers(0, 2**63 - 1), finite), max_size=5))
    return Update(
        draw(st.sampled_from(["full", "lowrank"])),
        tuple(seed for seed, _ in pairs),
        tuple(weight for _, weight in pairs),
        draw(finite),
        draw(finite),
        draw(st.integers(1, 16)),
        draw(st.sampled_from(["", "zero spread"])),
    )


@given(st.lists(updates(), max_size=4))
def test_what_is_dumped_is_loaded(history: list[Update]) -> None:
    records = [update_record(update, f"d{i}", f"d{i + 1}") for i, update in enumerate(history)]
    assert load(dump(records, "model")) == json.loads(json.dumps(records)) == records
    steps = [Step(update, f"d{i}", f"d{i + 1}") for i, update in enumerate(history)]
    assert read_records(records) == steps


def make(weight: float, skipped: str = "") -> Update:
    return Update("lowrank", (2**63 - 1, 5), (weight, -weight), 5e-4, 1e-3, 1, skipped)


class Weights:
    """Weights of one number, whose digest is that number."""

    def __init__(self) -> None:
        self.value = 0.0

    def apply(self, update: Update) -> None:
        self.value = self.value * 3 + update.weights[0]

    def digest(self) -> str:
        return str(self.value)


def recorded() -> tuple[Weights, list[dict[str, object]]]:
    live, records = Weights(), []
    for update in (make(1.0), make(0.0, "zero spread"), make(2.0)):
        before = live.digest()
        if not update.skipped:
            live.apply(update)
        records.append(update_record(update, before, live.digest()))
    return live, records


def test_replay_leads_to_the_same_weights() -> None:
    live, records = recorded()
    rebuilt = Weights()
    replay(load(dump(records)), rebuilt.apply, rebuilt.digest)
    assert rebuilt.value == live.value == 5.0


def test_replay_refuses_another_base() -> None:
    _, records = recorded()
    other = Weights()
    other.value = 1.0
    with pytest.raises(HistoryError, match=r"before update 0 the weights have digest 1\.0"):
        replay(records, other.apply, other.digest)


def test_replay_refuses_a_wrong_outcome() -> None:
    _, records = recorded()
    records[0]["weights"] = [4.0, -4.0]
    rebuilt = Weights()
    with pytest.raises(HistoryError, match=r"after update 0 .* digest 4\.0, the history says 1\.0"):
        replay(records, rebuilt.apply, rebuilt.digest)


def test_a_missing_step_is_seen() -> None:
    _, records = recorded()
    del records[0]
    records[0]["digest_before"], records[0]["digest_after"] = "0.0", "0.5"
    with pytest.raises(HistoryError, match=r"update 0 ends at digest 0\.5, update 1 starts at 1"):
        read_records(records)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"noise_version": 2}, "update 0 has noise version 2, this version makes 1 only"),
        ({"kind": "sparse"}, "update 0: kind is 'sparse', not one of lowrank, full"),
        ({"kind": ["full"]}, "update 0: kind is"),
        ({"seeds": "ab"}, "update 0: seeds must be a list, got str"),
        ({"seeds": [1, 2]}, "update 0: seed 0 must be a string, got 1"),
        ({"seeds": ["5", "6"]}, "update 0: seed 0 must be 16 hexadecimal digits, got '5'"),
        ({"weights": [1.0]}, "update 0 has 2 seeds but 1 weights"),
        ({"weights": [1.0, float("nan")]}, "update 0: weight 1 must be a finite number"),
        ({"weights": [1.0, True]}, "update 0: weight 1 must be a finite number"),
        ({"alpha": "5e-4"}, "update 0: alpha must be a finite number, got '5e-4'"),
        ({"rank": 0}, "update 0: rank must be an integer of at least 1, got 0"),
        ({"rank": 1.0}, "update 0: rank must be an integer"),
        ({"skipped": None}, "update 0: skipped must be a string, got None"),
        ({"digest_after": 5}, "update 0: digest_after must be a string, got 5"),
        ({"momentum": 0.9}, "update 0 has unknown momentum"),
    ],
)
def test_loading_is_strict(change: dict[str, object], message: str) -> None:
    record = {**update_record(make(1.0)), **change}
    text = '{"format": "coevo-es-history", "version": 1, "model": "", "updates": [%s]}'
    with pytest.raises(HistoryError) as caught:
        load(text % json.dumps(record))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("key", update_record(make(1.0)))
def test_nothing_may_be_missing(key: str) -> None:
    record = update_record(make(1.0))
    del record[key]
    with pytest.raises(HistoryError, match=f"update 0 lacks {key}"):
        read_records([record])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ("[]", "the history must be an object, got list"),
        ("{}", "the history lacks format"),
        ('{"format": "x", "version": 1, "model": "", "updates": []}', "format is 'x'"),
        (
            '{"format": "coevo-es-history", "version": 2, "model": "", "updates": []}',
            "version is 2, this version reads 1 only",
        ),
        (
            '{"format": "coevo-es-history", "version": 1, "model": "", "updates": {}}',
            "updates must be a list",
        ),
        (
            '{"format": "coevo-es-history", "version": 1, "model": "", "updates": [7]}',
            "update 0 must be an object, got int",
        ),
    ],
)
def test_other_files_are_refused(text: str, message: str) -> None:
    with pytest.raises(HistoryError, match=message):
        load(text)


def test_nan_is_not_written() -> None:
    with pytest.raises(ValueError, match="JSON"):
        dump([update_record(make(float("nan")))])
