"""What travels through the sandbox's pipes: fixed headers and plain array bytes, never pickle.

The reply of a candidate's process is read as an attacker's. Its length is known beforehand, each
field is checked, and all that it can say is a stage, a line of text, counts, and the arrays that
the problem declared.
"""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from coevo.attempt import Stage
from coevo.problems.base import Arrays, ArraySpec, BadOutput, Instances
from coevo.sandbox.compat import NAMES
from coevo.sandbox.limits import Limits
from coevo.sandbox.text import LONGEST, one_line

WALLS_STAND = b"W"  # first byte of the output, written before the candidate's code is looked at

_MAGIC = b"CEV1"
_HEAD = struct.Struct("<4sBHQ")  # magic, stage, bytes of the message, bytes of the arrays
_COUNTS = struct.Struct(f"<{len(NAMES)}I")
_MESSAGE_BYTES = 4 * LONGEST
_KINDS = "biufc"  # bool, signed, unsigned, float, complex

# What a candidate's process may say of itself. Never `infrastructure`, which would be tried again.
_STAGES = (
    Stage.UNSAFE,
    Stage.COMPILE,
    Stage.SIGNATURE,
    Stage.RUNTIME,
    Stage.MEMORY,
    Stage.OUTPUT,
    Stage.INFEASIBLE,
    Stage.NONFINITE,
    Stage.SCORED,
)


class BadReply(Exception):
    """The reply is not of the agreed form: the candidate wrote to the pipe."""


@dataclass(frozen=True)
class Reply:
    """What a candidate's process said. ``arrays`` if and only if the stage is ``scored``."""

    stage: Stage
    message: str = ""
    arrays: Arrays | None = None
    counted: Mapping[str, int] | None = None


def arrays_size(specs: Mapping[str, ArraySpec]) -> int:
    """Bytes of all arrays together."""
    return sum(_size(spec) for spec in specs.values())


def reply_size(specs: Mapping[str, ArraySpec]) -> int:
    """Bytes of the longest possible reply."""
    return _HEAD.size + _COUNTS.size + _MESSAGE_BYTES + arrays_size(specs)


def _size(spec: ArraySpec) -> int:
    dtype = np.dtype(spec.dtype)
    if dtype.kind not in _KINDS or dtype.hasobject:
        raise TypeError(f"problem: an output of dtype {spec.dtype}; use a plain number type")
    size = dtype.itemsize
    for length in spec.shape:
        size *= length
    return size


def encode_reply(reply: Reply, specs: Mapping[str, ArraySpec]) -> bytes:
    """The bytes of a reply. Raises `BadOutput` for undeclared arrays."""
    parts = [] if reply.arrays is None else [_plain(reply.arrays, name, specs) for name in specs]
    if reply.arrays is not None and set(reply.arrays) != set(specs):
        raise BadOutput(f"arrays {sorted(reply.arrays)} instead of {sorted(specs)}")
    message = one_line(reply.message).encode()[:_MESSAGE_BYTES]
    counted = reply.counted or {}
    counts = _COUNTS.pack(*(min(counted.get(name, 0), 2**32 - 1) for name in NAMES))
    size = sum(map(len, parts))
    head = _HEAD.pack(_MAGIC, _STAGES.index(reply.stage), len(message), size)
    return b"".join((head, counts, message, *parts))


def _plain(arrays: Arrays, name: str, specs: Mapping[str, ArraySpec]) -> bytes:
    array, spec = arrays.get(name), specs[name]
    if type(array) is not np.ndarray:
        raise BadOutput(f"{name} is {type(array).__name__}, not an array")
    if array.dtype != np.dtype(spec.dtype) or array.shape != spec.shape:
        got, due = f"{array.dtype}{array.shape}", f"{spec.dtype}{spec.shape}"
        raise BadOutput(f"{name} is {got} instead of {due}")
    return array.tobytes()


def decode_reply(data: bytes | bytearray, specs: Mapping[str, ArraySpec]) -> Reply:
    """Read a whole reply. Raises `BadReply` unless every byte is in place.

    The arrays are new, writable and have exactly the declared names, dtypes and shapes.
    """
    start = _HEAD.size + _COUNTS.size
    if len(data) < start:
        raise BadReply(f"{len(data)} bytes, too short for a header")
    magic, number, message_size, array_bytes = _HEAD.unpack_from(data)
    if magic != _MAGIC or number >= len(_STAGES):
        raise BadReply("no header")
    stage = _STAGES[number]
    due = arrays_size(specs) if stage is Stage.SCORED else 0
    if array_bytes != due or len(data) != start + message_size + due:
        raise BadReply(f"{len(data)} bytes of the wrong layout")
    message = bytes(data[start : start + message_size]).decode("utf-8", "replace")
    counts = _COUNTS.unpack_from(data, _HEAD.size)
    counted = {name: count for name, count in zip(NAMES, counts, strict=True) if count}
    if stage is not Stage.SCORED:
        return Reply(stage, one_line(message), None, counted)
    arrays: dict[str, np.ndarray] = {}
    offset = start + message_size
    for name, spec in specs.items():
        size = _size(spec)
        arrays[name] = _array(bytearray(data[offset : offset + size]), spec)
        offset += size
    return Reply(stage, one_line(message), arrays, counted)


def _array(data: bytearray, spec: ArraySpec) -> np.ndarray:
    dtype = np.dtype(spec.dtype)
    if dtype.kind == "b":  # a bool that is neither 0 nor 1 breaks compiled code
        return (np.frombuffer(data, np.uint8) != 0).reshape(spec.shape)
    return np.frombuffer(data, dtype).reshape(spec.shape)


# The zygote's own messages, between two ends that trust each other.

REQUEST = struct.Struct("<BQI")  # kind, number of the candidate, bytes of its code
RUN, KILL = 1, 2
REPORT = struct.Struct("<QBidd")  # number, ending, wait status, wall and processor seconds
ENDED, AT_LIMIT, KILLED, NOT_STARTED = range(4)


def receive(sock: socket.socket, size: int) -> bytes:
    """Exactly ``size`` bytes. Raises `EOFError` if the other end closes before."""
    data = bytearray()
    while len(data) < size:
        part = sock.recv(min(size - len(data), 1 << 20))
        if not part:
            raise EOFError("the other end of the sandbox's socket is closed")
        data += part
    return bytes(data)


def send_json(sock: socket.socket, value: Any) -> None:
    data = json.dumps(value).encode()
    sock.sendall(struct.pack("<I", len(data)) + data)


def receive_json(sock: socket.socket) -> Any:
    (size,) = struct.unpack("<I", receive(sock, 4))
    return json.loads(receive(sock, size))


@dataclass(frozen=True)
class Task:
    """What the zygote needs to know: instances, limits, and which walls to set up."""

    instances: Instances
    limits: Limits
    missing: tuple[str, ...] = ()  # names of walls that this machine cannot set up
    checks: bool = True  # the static checks, before the code runs


def send_task(sock: socket.socket, task: Task) -> None:
    arrays = {k: np.ascontiguousarray(v) for k, v in task.instances.arrays.items()}
    if any(v.dtype.kind not in _KINDS for v in arrays.values()):
        raise TypeError("instances must be arrays of plain numbers")
    instances = task.instances
    head = {
        "problem": [instances.problem, instances.split, instances.n, instances.seed],
        "arrays": [[k, v.dtype.str, list(v.shape)] for k, v in arrays.items()],
        "limits": asdict(task.limits),
        "missing": task.missing,
        "checks": task.checks,
    }
    send_json(sock, head)
    for array in arrays.values():
        sock.sendall(array.tobytes())


def receive_task(sock: socket.socket) -> Task:
    head = receive_json(sock)
    arrays = {}
    for name, dtype, shape in head["arrays"]:
        kind = np.dtype(dtype)
        size = kind.itemsize * int(np.prod(shape, dtype=np.int64))
        arrays[name] = np.frombuffer(receive(sock, size), kind).reshape(shape)  # read-only
    name, split, n, seed = head["problem"]
    instances = Instances(name, split, n, seed, arrays)
    limits = Limits(**head["limits"])
    return Task(instances, limits, tuple(head["missing"]), head["checks"])
