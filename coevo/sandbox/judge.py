"""From what is known of a candidate's end to a verdict.

Two sources: the kernel, through the zygote, says how the process ended, and is believed; the reply
is what the process said of itself, and is only believed as far as it can do no harm.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field

from coevo.attempt import Stage
from coevo.problems.base import ArraySpec
from coevo.sandbox import codec
from coevo.sandbox.client import Report
from coevo.sandbox.codec import WALLS_STAND, BadReply
from coevo.sandbox.limits import Limits
from coevo.sandbox.text import one_line, printable
from coevo.sandbox.verdict import Verdict


@dataclass(eq=False)
class Run:
    """One candidate on its way through the sandbox."""

    code: bytes
    future: Future[Verdict] = field(default_factory=Future)
    tries: int = 0
    number: int = 0
    reply: int = -1  # read ends of its pipes
    output: int = -1
    data: bytearray = field(default_factory=bytearray)
    started: float = 0.0  # monotonic, seconds
    too_long: bool = False
    watched: bool = False  # the pool's selector waits for ``reply``

    def drain(self, longest: int) -> bool:
        """Read what is in the reply's pipe; True if nothing more will be read from it."""
        while self.reply >= 0 and not self.too_long:
            try:
                part = os.read(self.reply, 1 << 16)
            except BlockingIOError:
                return False
            if not part:
                return True
            self.data += part
            self.too_long = len(self.data) > longest
        return True

    def printed(self, most: int) -> bytes:
        """What the candidate's process printed, at most so many bytes of it."""
        data = b""
        while self.output >= 0 and len(data) < most:
            try:
                part = os.read(self.output, most - len(data))
            except BlockingIOError:
                break
            if not part:
                break
            data += part
        return data

    def close(self) -> None:
        for fd in (self.reply, self.output):
            if fd >= 0:
                os.close(fd)
        self.reply = self.output = -1


def judge(
    run: Run, report: Report, specs: Mapping[str, ArraySpec], limits: Limits, unsafe: bool
) -> Verdict:
    """The verdict on a candidate that ended. ``unsafe``: walls are missing."""
    printed = run.printed(limits.output_bytes + len(WALLS_STAND))
    output = printable(printed[len(WALLS_STAND) :].decode("utf-8", "replace"))

    def verdict(stage: Stage, message: str) -> Verdict:
        return Verdict(stage, message, None, output, report.seconds)

    if report.ending == codec.NOT_STARTED:
        return verdict(Stage.INFRASTRUCTURE, "the machine could not start another process")
    if not printed.startswith(WALLS_STAND):
        return verdict(Stage.INFRASTRUCTURE, one_line(f"a wall could not be put up: {output}"))
    if report.ending == codec.AT_LIMIT:
        return verdict(Stage.TIMEOUT, f"still running after {limits.seconds:g} s")
    if report.ending == codec.KILLED or run.too_long:
        return verdict(Stage.RUNTIME, "it wrote to the sandbox's own pipe")
    if os.WIFSIGNALED(report.status):
        return verdict(*_killed(os.WTERMSIG(report.status), report, limits, unsafe))
    if not run.data:
        status = os.waitstatus_to_exitcode(report.status)
        return verdict(Stage.RUNTIME, f"it ended the process (exit status {status})")
    try:
        reply = codec.decode_reply(run.data, specs)
    except BadReply:
        return verdict(Stage.RUNTIME, "it wrote to the sandbox's own pipe")
    counted = reply.counted or {}
    return Verdict(reply.stage, reply.message, reply.arrays, output, report.seconds, counted)


def _killed(number: int, report: Report, limits: Limits, unsafe: bool) -> tuple[Stage, str]:
    name = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
    if number in (signal.SIGKILL, signal.SIGXCPU):
        if report.cpu_seconds > limits.cpu_whole_seconds - 0.5:
            seconds = limits.cpu_whole_seconds
            return Stage.TIMEOUT, f"still running after {seconds} s of processor time"
        # Within its walls a candidate cannot send this signal; the kernel, out of memory, can.
        if number == signal.SIGKILL and not unsafe:
            return Stage.INFRASTRUCTURE, "the process was killed from outside (out of memory?)"
    return Stage.RUNTIME, f"the process was ended by {name}"
