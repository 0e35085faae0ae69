"""The pool: hands candidates to the zygote, as many at a time as there are workers."""

from __future__ import annotations

import fcntl
import os
import selectors
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from types import TracebackType

from coevo.attempt import Stage
from coevo.error import CoevoError
from coevo.problems.base import Instances, Problem
from coevo.problems.registry import load
from coevo.sandbox import codec
from coevo.sandbox.client import Report, ZygoteClient, ZygoteError
from coevo.sandbox.codec import Task
from coevo.sandbox.judge import Run, judge
from coevo.sandbox.limits import Limits
from coevo.sandbox.verdict import Verdict
from coevo.sandbox.walls import walls

_TRIES = 2  # a candidate that the machine failed is tried once more
_GRACE_S = 15.0  # a zygote that is this late with a report is taken for dead
_AHEAD = 4  # candidates per worker that `map` has under way or waiting
_F_SETPIPE_SZ = 1031


class SandboxError(CoevoError):
    """The sandbox cannot start here; the message says what to do."""


class SandboxPool:
    """Runs untrusted programs, each in a fresh walled-in process, on a problem's instances.

    A context manager. Its methods may be called from any thread. Processes end with the pool, and
    with the process that made it, however that dies.

    Args:
        problem: a problem, or its name.
        instances: what each candidate is run on.
        limits: of each candidate.
        workers: candidates at a time, 1 or more; None means one per processor.
        unsafe: start even where walls are missing.
        checks: refuse offensive code by static checks, before the walls have to hold it.

    Raises `SandboxError` where a wall is missing or the zygote does not start.
    """

    def __init__(
        self,
        problem: Problem | str,
        instances: Instances,
        limits: Limits | None = None,
        workers: int | None = None,
        unsafe: bool = False,
        checks: bool = True,
    ) -> None:
        if workers is not None and workers < 1:
            raise ValueError(f"the sandbox needs at least 1 worker, not {workers}")
        problem = load(problem) if isinstance(problem, str) else problem
        self.limits = limits or Limits()
        self.workers = workers or len(os.sched_getaffinity(0))
        self._specs = problem.outputs(instances)
        self._size = codec.reply_size(self._specs)
        missing = tuple(wall for wall in walls() if not wall.stands)
        if missing and not unsafe:
            first = missing[0]
            raise SandboxError(
                f"the sandbox's wall {first.name!r} is missing here ({first.detail}): {first.fix}; "
                "or accept the risk with --unsafe-sandbox"
            )
        self._task = Task(instances, self.limits, tuple(wall.name for wall in missing), checks)
        self._lock = threading.Lock()
        self._waiting: deque[Run] = deque()
        self._running: dict[int, Run] = {}
        self._numbers = 0
        self._closed = False
        self._wake = os.eventfd(0)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._wake, selectors.EVENT_READ)
        self._zygote: ZygoteClient | None = None
        try:
            self._start_zygote()
        except ZygoteError as error:
            raise SandboxError(f"{error}; `coevo doctor` says which walls stand") from error
        self._thread = threading.Thread(target=self._serve, name="coevo-sandbox", daemon=True)
        self._thread.start()

    @property
    def zygote_pid(self) -> int | None:
        """Process id of the zygote; None while there is none."""
        return self._zygote.process.pid if self._zygote else None

    def submit(self, code: str) -> Future[Verdict]:
        """Queue a program; it starts as soon as a worker is free."""
        run = Run(code.encode("utf-8", "replace"))
        if len(run.code) > self.limits.code_bytes:
            message = f"the program is longer than {self.limits.code_bytes} bytes"
            run.future.set_result(Verdict(Stage.COMPILE, message))
            return run.future
        with self._lock:
            if self._closed:
                raise SandboxError("the sandbox is closed; make a new SandboxPool")
            self._waiting.append(run)
            os.eventfd_write(self._wake, 1)
        return run.future

    def evaluate(self, code: str) -> Verdict:
        """Run one program to its end."""
        return self.submit(code).result()

    def map(self, codes: Iterable[str]) -> Iterator[tuple[int, Verdict]]:
        """Run programs; yields (position, verdict) as they end. ``codes`` is read bit by bit."""
        positions: dict[Future[Verdict], int] = {}
        try:
            for position, code in enumerate(codes):
                positions[self.submit(code)] = position
                full = len(positions) >= _AHEAD * self.workers
                yield from self._finished(positions, None if full else 0)
            while positions:
                yield from self._finished(positions, None)
        finally:
            for future in positions:
                future.cancel()

    @staticmethod
    def _finished(
        positions: dict[Future[Verdict], int], timeout: float | None
    ) -> Iterator[tuple[int, Verdict]]:
        done, _ = wait(positions, timeout, FIRST_COMPLETED)
        for future in sorted(done, key=positions.__getitem__):
            yield positions.pop(future), future.result()

    def close(self) -> None:
        """End every candidate and the zygote; programs that had not ended raise `SandboxError`."""
        with self._lock:
            self._closed = True
            if self._wake < 0:
                return
            os.eventfd_write(self._wake, 1)
        self._thread.join()
        with self._lock:
            if self._wake >= 0:
                self._selector.close()
                os.close(self._wake)
                self._wake = -1

    def __enter__(self) -> SandboxPool:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # Everything below runs in the pool's own thread.

    def _serve(self) -> None:
        try:
            while not self._closed:
                self._start_waiting()
                for key, _ in self._selector.select(self._patience()):
                    if key.fd == self._wake:
                        os.eventfd_read(self._wake)
                    elif isinstance(key.data, Run):
                        self._read(key.data)
                    else:
                        self._hear()
                if self._patience() == 0.0:
                    self._restart("the sandbox's zygote does not answer")
        finally:
            self._end()

    def _patience(self) -> float | None:
        """Seconds until the oldest report is overdue; None if none is due."""
        if not self._running:
            return None
        oldest = min(run.started for run in self._running.values())
        return max(0.0, oldest + self.limits.seconds + _GRACE_S - time.monotonic())

    def _start_zygote(self) -> ZygoteClient:
        zygote = ZygoteClient(self._task)
        self._selector.register(zygote, selectors.EVENT_READ)
        self._zygote = zygote
        return zygote

    def _start_waiting(self) -> None:
        while len(self._running) < self.workers:
            with self._lock:
                run = self._waiting.popleft() if self._waiting else None
            if run is None:
                return
            if run.tries == 0 and not run.future.set_running_or_notify_cancel():
                continue
            self._start(run)

    def _start(self, run: Run) -> None:
        run.tries += 1
        run.data = bytearray()
        run.too_long = False
        run.started = time.monotonic()
        self._numbers += 1
        run.number = self._numbers
        try:
            zygote = self._zygote or self._start_zygote()
            run.reply, reply = os.pipe2(os.O_CLOEXEC)
            run.output, output = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
            os.set_blocking(run.reply, False)
            self._running[run.number] = run
            self._selector.register(run.reply, selectors.EVENT_READ, run)
            run.watched = True
            try:
                fcntl.fcntl(output, _F_SETPIPE_SZ, max(self.limits.output_bytes + 1, 4096))
                zygote.run(run.number, run.code, reply, output)
            finally:
                os.close(reply)
                os.close(output)
        except (OSError, ZygoteError) as error:
            self._running.setdefault(run.number, run)
            self._restart(str(error))

    def _read(self, run: Run) -> None:
        """Read what the candidate replied so far; more than the longest reply is its end."""
        if not run.watched:
            return  # it ended earlier in this very round of events
        if run.drain(self._size):
            self._selector.unregister(run.reply)
            run.watched = False
            if run.too_long and self._zygote:
                self._zygote.kill(run.number)

    def _hear(self) -> None:
        assert self._zygote is not None
        try:
            for report in self._zygote.reports():
                run = self._running.pop(report.number, None)
                if run is not None:
                    self._finish(run, report)
        except ZygoteError as error:
            self._restart(str(error))

    def _finish(self, run: Run, report: Report) -> None:
        run.drain(self._size)
        verdict = judge(run, report, self._specs, self.limits, bool(self._task.missing))
        self._let_go(run)
        self._conclude(run, verdict)

    def _conclude(self, run: Run, verdict: Verdict) -> None:
        if verdict.stage is Stage.INFRASTRUCTURE and run.tries < _TRIES:
            with self._lock:
                self._waiting.appendleft(run)
        else:
            run.future.set_result(verdict)

    def _let_go(self, run: Run) -> None:
        if run.watched:
            self._selector.unregister(run.reply)
            run.watched = False
        run.close()

    def _restart(self, reason: str) -> None:
        """The zygote is gone: what was running is tried again, with a new one."""
        self._drop_zygote()
        running, self._running = list(self._running.values()), {}
        for run in running:
            self._let_go(run)
            seconds = time.monotonic() - run.started
            self._conclude(run, Verdict(Stage.INFRASTRUCTURE, reason, seconds=seconds))

    def _drop_zygote(self) -> None:
        if self._zygote is not None:
            self._selector.unregister(self._zygote)
            self._zygote.close()
            self._zygote = None

    def _end(self) -> None:
        with self._lock:
            self._closed = True
            left = [*self._running.values(), *self._waiting]
            self._waiting.clear()
        self._drop_zygote()
        for run in left:
            self._let_go(run)
            error = SandboxError("the sandbox was closed before this candidate ended")
            if not run.future.cancel() and not run.future.done():
                run.future.set_exception(error)
