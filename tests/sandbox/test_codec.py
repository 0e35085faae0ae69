"""The reply's format: what is true arrives, and nothing else is accepted."""

from __future__ import annotations

import socket
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.attempt import Stage
from coevo.problems.base import ArraySpec, BadOutput, Instances
from coevo.sandbox import codec
from coevo.sandbox.codec import BadReply, Reply, Task, decode_reply, encode_reply
from coevo.sandbox.limits import Limits

SPECS = {
    "tours": ArraySpec("int64", (2, 3)),
    "kept": ArraySpec("bool", (4,)),
    "weights": ArraySpec("float32", (0, 5)),
}
ARRAYS = {
    "kept": np.array([True, False, True, True]),
    "tours": np.arange(6).reshape(2, 3)[::-1],
    "weights": np.zeros((0, 5), np.float32),
}


def test_round_trip() -> None:
    data = encode_reply(Reply(Stage.SCORED, "", ARRAYS, {"in1d": 3}), SPECS)
    assert len(data) <= codec.reply_size(SPECS)
    reply = decode_reply(data, SPECS)
    assert (reply.stage, reply.message, reply.counted) == (Stage.SCORED, "", {"in1d": 3})
    assert reply.arrays is not None
    assert list(reply.arrays) == list(SPECS)
    for name, array in reply.arrays.items():
        np.testing.assert_array_equal(array, ARRAYS[name])
        assert array.flags.writeable
        assert array.flags.c_contiguous
        assert (array.dtype, array.shape) == (np.dtype(SPECS[name].dtype), SPECS[name].shape)


def test_failures_carry_a_message_and_no_arrays() -> None:
    reply = decode_reply(encode_reply(Reply(Stage.RUNTIME, "a\nb" * 999), SPECS), SPECS)
    assert reply.stage is Stage.RUNTIME
    assert reply.message.startswith("a b")
    assert len(reply.message) == 300
    assert reply.arrays is None


@pytest.mark.parametrize(
    "changed",
    [
        {"tours": np.arange(6.0).reshape(2, 3)},
        {"tours": np.arange(6)},
        {"tours": [[0, 1, 2]] * 2},
        {"kept": np.ma.masked_array(ARRAYS["kept"])},
        {"more": np.zeros(1)},
    ],
)
def test_undeclared_arrays_are_refused(changed: dict[str, np.ndarray]) -> None:
    with pytest.raises(BadOutput):
        encode_reply(Reply(Stage.SCORED, "", {**ARRAYS, **changed}), SPECS)


def test_missing_arrays_are_refused() -> None:
    with pytest.raises(BadOutput):
        encode_reply(Reply(Stage.SCORED, "", {"kept": ARRAYS["kept"]}), SPECS)


def test_object_arrays_cannot_be_declared() -> None:
    with pytest.raises(TypeError, match="plain number type"):
        codec.reply_size({"x": ArraySpec("object", (1,))})


def test_a_bool_is_0_or_1() -> None:
    data = bytearray(encode_reply(Reply(Stage.SCORED, "", ARRAYS), SPECS))
    data[-4:] = b"\x02\x00\xff\x01"
    reply = decode_reply(data, SPECS)
    assert reply.arrays is not None
    assert reply.arrays["kept"].view(np.uint8).tolist() == [1, 0, 1, 1]


@pytest.mark.parametrize("stage", [Stage.TIMEOUT, Stage.INFRASTRUCTURE, Stage.REPLY, Stage.PARSE])
def test_a_process_cannot_speak_of_everything(stage: Stage) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  (that of tuple.index)
        encode_reply(Reply(stage), SPECS)


@given(st.binary(max_size=400))
def test_noise_is_refused(data: bytes) -> None:
    with pytest.raises(BadReply):
        decode_reply(data, SPECS)


@given(st.integers(0, 10**9), st.integers(0, 255), st.booleans())
def test_a_changed_reply_is_refused_or_harmless(place: int, value: int, failed: bool) -> None:
    arrays = None if failed else ARRAYS
    stage = Stage.OUTPUT if failed else Stage.SCORED
    data = bytearray(encode_reply(Reply(stage, "why", arrays), SPECS))
    data[place % len(data)] = value
    try:
        reply = decode_reply(data, SPECS)
    except BadReply:
        return
    assert (reply.arrays is not None) == (reply.stage is Stage.SCORED)
    assert reply.stage is not Stage.INFRASTRUCTURE
    assert reply.message.isprintable()


def test_cut_or_lengthened_replies_are_refused() -> None:
    data = encode_reply(Reply(Stage.SCORED, "", ARRAYS), SPECS)
    for wrong in (data[:-1], data + b"\0", data[:20], b"", b"CEV1" + data[5:]):
        with pytest.raises(BadReply):
            decode_reply(wrong, SPECS)


def test_a_huge_declared_length_allocates_nothing() -> None:
    head = struct.pack("<4sBHQ", b"CEV1", 8, 0, 2**63)
    with pytest.raises(BadReply):
        decode_reply(head.ljust(300, b"\0"), SPECS)


def test_the_task_arrives_as_it_was() -> None:
    arrays = {"points": np.random.default_rng(0).random((3, 4, 2)), "n": np.arange(3, dtype="i4")}
    instances = Instances("tsp", "val", 4, 7, arrays)
    task = Task(instances, Limits(seconds=3, cpu_seconds=1.5), ("landlock",), False)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        codec.send_task(ours, task)
        got = codec.receive_task(theirs)
    assert (got.limits, got.missing, got.checks) == (task.limits, task.missing, task.checks)
    assert (got.instances.split, got.instances.n, got.instances.seed) == ("val", 4, 7)
    for name, array in arrays.items():
        np.testing.assert_array_equal(got.instances.arrays[name], array)
        assert not got.instances.arrays[name].flags.writeable


def test_object_instances_are_not_sent() -> None:
    instances = Instances("tsp", "val", 4, 7, {"points": np.array([None])})
    ours, theirs = socket.socketpair()
    with ours, theirs, pytest.raises(TypeError, match="plain numbers"):
        codec.send_task(ours, Task(instances, Limits()))
