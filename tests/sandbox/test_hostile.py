"""Programs that mean harm: each is stopped at the right stage, and does none.

Each file in ``hostile/`` is one program. Its first line names the stages it may end at, with the
static checks and, where that differs, without them. A program that got somewhere prints ``BREACH``.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from coevo.attempt import Stage
from coevo.problems.base import Infeasible, Instances
from coevo.problems.registry import load
from coevo.sandbox import seccomp
from coevo.sandbox.limits import Limits
from coevo.sandbox.pool import SandboxPool
from coevo.sandbox.verdict import Verdict

PROGRAMS = sorted(Path(__file__).with_name("hostile").glob("*.py"))
LIMITS = Limits(seconds=3, memory_mb=256)
SECRET = "BREACH-canary-71d2"
HEADER = re.compile(r"# stage: ([a-z ]+)(?:; without checks: ([a-z ]+))?\n")


@dataclass
class World:
    """What a program could harm: files, listening sockets, this process."""

    directory: Path
    pool: SandboxPool
    accepted: list[str] = field(default_factory=list)
    signals: list[int] = field(default_factory=list)
    port: int = 0
    verdicts: dict[Path, Future[Verdict]] = field(default_factory=dict)

    @property
    def canary(self) -> Path:
        return self.directory / "run" / "run.db"

    @property
    def socket(self) -> Path:
        return self.directory / "socket"

    def fill_in(self, program: str) -> str:
        probes = {335, 336}  # uretprobe and uprobe, x86: no filter sees them, they end the process
        forbidden = [n for n in range(460) if n not in allowed_numbers() | probes]
        return (
            program.replace("@CANARY@", str(self.canary))
            .replace("@OUTSIDE@", str(self.canary.parent))
            .replace("@SOCKET@", str(self.socket))
            .replace("@PORT@", str(self.port))
            .replace("@PID@", str(os.getpid()))
            .replace("@ZYGOTE@", str(self.pool.zygote_pid))
            .replace("@SYSCALLS@", ", ".join(map(str, forbidden)))
        )

    def unharmed(self) -> None:
        assert self.canary.read_text() == SECRET
        assert sorted(os.listdir(self.canary.parent)) == ["run.db"]
        assert not self.accepted
        assert not self.signals


def allowed_numbers() -> set[int]:
    """Calls that are allowed, if only for some arguments, on this machine."""
    column = 1 if seccomp.machine() == "aarch64" else 0
    partly = {name: pair for name, (pair, _, _) in seccomp._PARTLY.items()}
    pairs = [*seccomp._ALLOWED.values(), *partly.values(), seccomp._TGKILL]
    return {number for pair in pairs if (number := pair[column]) is not None}


def processes_below(pid: int) -> list[int]:
    """The zygote's descendants, by process id, but for its own second half."""
    parents = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                stat = Path(f"/proc/{entry}/stat").read_text()
            except OSError:
                continue
            parents[int(entry)] = int(stat.rpartition(")")[2].split()[1])
    inner = [child for child, parent in parents.items() if parent == pid]
    return [child for child, parent in parents.items() if parent in inner]


def listen(world: World, sock: socket.socket) -> None:
    def accept() -> None:
        while True:
            try:
                sock.accept()
            except OSError:
                return
            world.accepted.append(str(sock.getsockname()))

    sock.listen()
    threading.Thread(target=accept, daemon=True).start()


@pytest.fixture(scope="module", params=["with checks", "without checks"])
def world(
    request: pytest.FixtureRequest, instances: Instances, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[World]:
    checks = request.param == "with checks"
    directory = tmp_path_factory.mktemp("world")
    os.environ["COEVO_SECRET"] = SECRET
    watched = (signal.SIGUSR1, signal.SIGUSR2, signal.SIGTERM, signal.SIGHUP)
    with (
        SandboxPool("tsp", instances, LIMITS, workers=4, checks=checks) as pool,
        socket.socket() as tcp,
        socket.socket(socket.AF_UNIX) as unix,
        socket.socket(socket.AF_UNIX) as abstract,
    ):
        world = World(directory, pool)
        world.canary.parent.mkdir()
        world.canary.write_text(SECRET)
        tcp.bind(("127.0.0.1", 0))
        world.port = tcp.getsockname()[1]
        unix.bind(str(world.socket))
        abstract.bind("\0coevo-hostile")
        for sock in (tcp, unix, abstract):
            listen(world, sock)
        before = {
            number: signal.signal(number, lambda n, _: world.signals.append(n))
            for number in watched
        }
        zygote = pool.zygote_pid
        for path in PROGRAMS:
            world.verdicts[path] = pool.submit(world.fill_in(path.read_text()))
        yield world
        assert pool.zygote_pid == zygote  # it was never restarted
        for number, handler in before.items():
            signal.signal(number, handler)
        for sock in (tcp, unix, abstract):
            sock.shutdown(socket.SHUT_RDWR)


def test_there_are_enough_of_them() -> None:
    assert len(PROGRAMS) >= 60


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_hostile(world: World, path: Path, instances: Instances) -> None:
    source = path.read_text()
    header = HEADER.match(source)
    assert header is not None, "the first line names no stage"
    checks = world.pool._task.checks
    stages = (header[1] if checks else header[2] or header[1]).split()

    verdict = world.verdicts[path].result()

    assert verdict.stage.value in stages, verdict.message
    assert verdict.seconds < LIMITS.seconds + 1
    for text in (verdict.message, verdict.output):
        assert "BREACH" not in text
        assert "root:" not in text
    assert len(verdict.message) <= 300
    assert verdict.message.isprintable()
    assert str(world.directory) not in verdict.message
    assert not re.search(r"/\w+/\w", verdict.message)
    assert len(verdict.output) <= LIMITS.output_bytes
    assert all(c.isprintable() or c in "\n\t" for c in verdict.output)
    assert (verdict.arrays is not None) == (verdict.stage is Stage.SCORED)
    if verdict.arrays is not None:
        try:
            objective = load("tsp").score(instances, verdict.arrays)
        except Infeasible:
            pass
        else:
            assert objective > 2
    world.unharmed()


def test_no_process_is_left(world: World) -> None:
    wait(world.verdicts.values())
    assert world.pool.zygote_pid is not None
    assert not processes_below(world.pool.zygote_pid)


def test_still_serving(world: World, instances: Instances) -> None:
    problem = load("tsp")
    for code in problem.baselines.values():
        verdict = world.pool.evaluate(code)
        assert verdict.stage is Stage.SCORED
        assert verdict.arrays is not None
        assert problem.score(instances, verdict.arrays) > 2
