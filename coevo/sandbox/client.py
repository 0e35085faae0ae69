"""The pool's end of the zygote: start it, hand it candidates, hear how they ended, end it."""

from __future__ import annotations

import socket
import subprocess
import sys
from dataclasses import dataclass

from coevo.sandbox import codec
from coevo.sandbox.codec import REPORT, REQUEST, Task
from coevo.sandbox.text import one_line
from coevo.sandbox.walls import environment

_START_S = 120.0  # longest wait for a zygote to be ready; usually 2 to 4 s
_SEND_S = 20.0  # longest wait for it to take a candidate; it is always listening


class ZygoteError(Exception):
    """The zygote did not start, or is gone. One line."""


@dataclass(frozen=True)
class Report:
    """How a candidate's process ended, as the kernel told the zygote."""

    number: int
    ending: int  # one of codec.ENDED, AT_LIMIT, KILLED, NOT_STARTED
    status: int  # as `os.wait4` gives it
    seconds: float  # wall clock
    cpu_seconds: float


class ZygoteClient:
    """A running zygote. Raises `ZygoteError` if it does not get ready."""

    def __init__(self, task: Task) -> None:
        self._sock, theirs = socket.socketpair()
        self._buffer = bytearray()
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "coevo.sandbox.zygote", str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env=environment(),
                cwd="/",
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # Ctrl-C is the run's to handle
            )
        try:
            self._sock.settimeout(_START_S)
            codec.send_json(self._sock, task.missing)
            codec.send_task(self._sock, task)
            answer = codec.receive_json(self._sock)
        except (OSError, EOFError) as error:
            raise ZygoteError(f"the sandbox did not start: {self._last_words(error)}") from error
        except BaseException:
            self.close()
            raise
        if "error" in answer:
            self.close()
            raise ZygoteError(f"the sandbox did not start: {one_line(answer['error'])}")
        self._sock.settimeout(_SEND_S)

    def _last_words(self, error: Exception) -> str:
        self._sock.close()
        self.process.kill()
        assert self.process.stderr is not None
        lines = self.process.stderr.read().decode("utf-8", "replace").strip().splitlines()
        self.close()
        return one_line(lines[-1] if lines else str(error))

    def fileno(self) -> int:
        return self._sock.fileno()

    def run(self, number: int, code: bytes, reply: int, output: int) -> None:
        """Start a candidate that replies to, and prints to, these file descriptors."""
        try:
            head = REQUEST.pack(codec.RUN, number, len(code))
            sent = socket.send_fds(self._sock, [head], [reply, output])
            self._sock.sendall(head[sent:] + code)
        except OSError as error:
            raise ZygoteError(f"the sandbox is gone: {error}") from error

    def kill(self, number: int) -> None:
        """End a candidate; its report still comes."""
        try:
            self._sock.sendall(REQUEST.pack(codec.KILL, number, 0))
        except OSError as error:
            raise ZygoteError(f"the sandbox is gone: {error}") from error

    def reports(self) -> list[Report]:
        """The reports that are there; call it when the descriptor is readable."""
        try:
            data = self._sock.recv(REPORT.size * 64)
        except OSError as error:
            raise ZygoteError(f"the sandbox is gone: {error}") from error
        if not data:
            raise ZygoteError("the sandbox's zygote ended")
        self._buffer += data
        whole = len(self._buffer) - len(self._buffer) % REPORT.size
        found = [Report(*fields) for fields in REPORT.iter_unpack(self._buffer[:whole])]
        del self._buffer[:whole]
        return found

    def close(self) -> None:
        """End the zygote and every candidate, and wait until they are gone."""
        self._sock.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if self.process.stderr is not None:
            self.process.stderr.close()
