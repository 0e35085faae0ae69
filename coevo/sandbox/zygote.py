"""The zygote: a process with everything loaded, which forks itself for each candidate.

Started as ``python -m coevo.sandbox.zygote FD``, with a socket to the pool at that descriptor. It
is never a fork of the process that holds the model. It reads nothing that a candidate wrote: of a
candidate it knows what the kernel tells it, the way it ended and the time that it took.
"""

from __future__ import annotations

import array
import contextlib
import gc
import os
import select
import signal
import socket
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from coevo.sandbox import codec
from coevo.sandbox.codec import AT_LIMIT, ENDED, KILLED, NOT_STARTED, REPORT, REQUEST
from coevo.sandbox.confinement import Confinement
from coevo.sandbox.limits import Limits

if TYPE_CHECKING:
    from coevo.sandbox.candidate import Job


@dataclass
class _Child:
    number: int
    pid: int
    pidfd: int
    started: float
    ending: int = ENDED


def main(fd: int) -> NoReturn:
    """Set up, then serve until the pool goes away. Never returns."""
    pool = os.pidfd_open(os.getppid())
    sock = socket.socket(fileno=fd)
    null = os.open(os.devnull, os.O_WRONLY)
    missing = tuple(codec.receive_json(sock))
    try:
        Confinement(Limits(), missing).enter_namespaces()
        task = codec.receive_task(sock)
        job, walls = _prepare(task)
    except Exception as error:
        codec.send_json(sock, {"error": f"{type(error).__name__}: {error}"})
        os._exit(1)
    codec.send_json(sock, {"ready": True})
    os.dup2(null, 2)  # the pool has heard that all is well
    _Zygote(sock, pool, job, walls).serve()
    os._exit(0)


def _prepare(task: codec.Task) -> tuple[Job, Confinement]:
    # Imported here, inside the namespaces: these are hundreds of modules.
    from coevo.problems.registry import load
    from coevo.sandbox import candidate, compat, determinism, huge_pages
    from coevo.sandbox.preload import preload, view

    preload()
    problem = load(task.instances.problem)
    outputs = problem.outputs(task.instances)
    determinism.fix()
    counted = compat.install()
    job = candidate.Job(problem, task.instances, outputs, task.limits, task.checks, counted)
    candidate.warm(job)
    gc.collect()
    gc.freeze()  # so that a child's garbage collection copies no page of ours
    huge_pages.collapse()
    walls = Confinement(task.limits, task.missing)
    walls.narrow_view(view())
    os.environ.clear()
    return job, walls


class _Zygote:
    """The event loop: requests in, forks, deadlines, reports out."""

    def __init__(self, sock: socket.socket, pool: int, job: Job, walls: Confinement) -> None:
        self._sock, self._pool, self._job, self._walls = sock, pool, job, walls
        self._children: dict[int, _Child] = {}  # by pidfd
        self._self = os.pidfd_open(os.getpid())
        self._poll = select.poll()
        for fd in (sock.fileno(), pool):
            self._poll.register(fd, select.POLLIN)

    def serve(self) -> None:
        """Until the pool closes the socket or dies; then end every candidate."""
        try:
            while True:
                for fd, _ in self._poll.poll(self._until_deadline()):
                    if fd == self._pool:
                        return
                    if fd == self._sock.fileno():
                        self._request()
                    elif fd in self._children:
                        self._reap(self._children[fd])
                self._end_late_ones()
        except (EOFError, ConnectionError):
            return
        finally:
            for child in self._children.values():
                self._kill(child)

    def _until_deadline(self) -> float | None:
        """Milliseconds until the next candidate is at its limit; None if none is running."""
        running = [c.started for c in self._children.values() if c.ending == ENDED]
        if not running:
            return None
        left = min(running) + self._job.limits.seconds - time.monotonic()
        return max(0.0, left * 1000) + 1

    def _request(self) -> None:
        data, fds = _receive_with_fds(self._sock, REQUEST.size, 2)
        kind, number, size = REQUEST.unpack(data)
        if kind == codec.KILL:
            for child in self._children.values():
                if child.number == number:
                    child.ending = KILLED
                    self._kill(child)
            return
        code = codec.receive(self._sock, size)
        try:
            self._start(number, code, *fds)
        except OSError:
            self._sock.sendall(REPORT.pack(number, NOT_STARTED, 0, 0.0, 0.0))
        finally:
            for fd in fds:
                os.close(fd)

    def _start(self, number: int, code: bytes, reply: int, output: int) -> None:
        from coevo.sandbox import candidate

        assert min(reply, output) > 3, "descriptors 0 to 3 are taken from the start"
        started = time.monotonic()
        pid = self._walls.fork()
        if pid == 0:
            try:
                for fd, place in ((output, 0), (output, 1), (output, 2), (reply, 3)):
                    os.dup2(fd, place)
                candidate.run(code, self._job, self._walls, self._self)
            finally:
                os._exit(1)
        child = _Child(number, pid, os.pidfd_open(pid), started)
        self._children[child.pidfd] = child
        self._poll.register(child.pidfd, select.POLLIN)

    def _reap(self, child: _Child) -> None:
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.monotonic() - child.started
        cpu = usage.ru_utime + usage.ru_stime
        self._poll.unregister(child.pidfd)
        os.close(child.pidfd)
        del self._children[child.pidfd]
        self._sock.sendall(REPORT.pack(child.number, child.ending, status, seconds, cpu))

    def _end_late_ones(self) -> None:
        now = time.monotonic()
        for child in self._children.values():
            if child.ending == ENDED and now - child.started >= self._job.limits.seconds:
                child.ending = AT_LIMIT
                self._kill(child)

    @staticmethod
    def _kill(child: _Child) -> None:
        """SIGKILL for the process and its group; with process 1 of a namespace, all in it die."""
        for kill in (os.killpg, os.kill):
            with contextlib.suppress(ProcessLookupError):
                kill(child.pid, signal.SIGKILL)


def _receive_with_fds(sock: socket.socket, size: int, most: int) -> tuple[bytes, list[int]]:
    fds = array.array("i")
    data, ancillary, _, _ = sock.recvmsg(size, socket.CMSG_SPACE(most * fds.itemsize))
    for level, kind, payload in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fds.frombytes(payload[: len(payload) - len(payload) % fds.itemsize])
    if not data:
        raise EOFError("the pool is gone")
    return data + codec.receive(sock, size - len(data)), list(fds)


if __name__ == "__main__":
    main(int(sys.argv[1]))
