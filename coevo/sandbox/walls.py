"""Do the walls stand on this machine? Each one is put up, and then run against."""

from __future__ import annotations

import json
import os
import resource
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from coevo.sandbox import confinement, kernel, landlock, namespaces, seccomp


@dataclass(frozen=True)
class Wall:
    """One wall, whether it stands here, what was found, and what to do if it does not."""

    name: str
    stands: bool
    detail: str
    fix: str


_FIXES = {
    confinement.NAMESPACES: "allow unprivileged user namespaces (sysctl user.max_user_namespaces "
    "above 0, kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0; "
    "in Docker: --security-opt seccomp=unconfined)",
    confinement.LANDLOCK: "use Linux 5.13 or later with 'landlock' in the boot parameter lsm=",
    confinement.SECCOMP: "use a kernel with CONFIG_SECCOMP_FILTER on x86_64 or aarch64",
    confinement.PRIVATE_TMP: "it needs the namespaces: mend those first",
    confinement.RLIMITS: "raise the hard limits of the shell (ulimit -H)",
}


@lru_cache(maxsize=1)
def walls() -> tuple[Wall, ...]:
    """Probe every wall, in a process of its own; about 0.2 s, remembered.

    Each wall is set up as for a candidate, and what it forbids is then tried.
    """
    command = [sys.executable, "-m", "coevo.sandbox.walls"]
    try:
        done = subprocess.run(
            command, env=environment(), cwd="/", capture_output=True, text=True, timeout=60
        )
        found = json.loads(done.stdout or "{}")
        failed = (done.stderr.strip().splitlines() or ["no output"])[-1]
    except (OSError, subprocess.TimeoutExpired) as error:
        found, failed = {}, str(error)
    return tuple(
        _wall(name, found.get(name, f"the probe failed: {failed}")) for name in confinement.WALLS
    )


def _wall(name: str, found: str) -> Wall:
    stands = found.startswith("+")
    return Wall(name, stands, found.lstrip("+"), "" if stands else _FIXES[name])


def environment() -> dict[str, str]:
    """The environment of the sandbox's own processes: nothing of the user's, and one thread."""
    places = [os.path.abspath(entry) for entry in sys.path if os.path.isdir(entry or ".")]
    threads = dict.fromkeys(
        ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
    )
    return {
        "PYTHONPATH": os.pathsep.join(places),
        "PYTHONHASHSEED": "0",  # the order of a set of strings is the same each time
        "NUMBA_THREADING_LAYER": "workqueue",
        "LC_ALL": "C.UTF-8",
        **threads,
    }


def _must_fail(what: str, attempt: Callable[[], object]) -> None:
    try:
        attempt()
    except (OSError, MemoryError):
        return
    raise AssertionError(f"{what} was possible")


def _in_child(probe: Callable[[], str]) -> str:
    """The answer of ``probe``, which runs in a fork of this process; or how it failed."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(writing, probe().encode())
        except BaseException as error:
            os.write(writing, f"{error or type(error).__name__}".encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        answer = file.read().decode()
    _, status = os.waitpid(pid, 0)
    return answer or f"the probe ended with status {status}"


def _probe_namespaces() -> str:
    outside = os.getpid()
    namespaces.enter()
    return _in_child(lambda: _inside_namespaces(outside))


def _inside_namespaces(outside: int) -> str:
    assert os.getpid() == 1, "the process namespace is the old one"
    namespaces.show_only(["/usr/lib"])
    assert not os.path.exists("/etc/passwd"), "/etc/passwd is visible"
    _must_fail("writing to the root directory", lambda: os.mkdir("/probe"))
    _must_fail("a signal to the outside", lambda: os.kill(outside, 0))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        _must_fail("a packet to the network", lambda: sock.sendto(b"x", ("192.0.2.1", 9)))
    return "+user, mount, process, network, IPC, UTS and cgroup namespaces"


def _probe_tmp() -> str:
    namespaces.enter()
    return _in_child(_inside_tmp)


def _inside_tmp() -> str:
    namespaces.show_only(["/usr/lib"])
    namespaces.mount_private_tmp(1)
    with open(f"{namespaces.PRIVATE_TMP}/file", "wb", buffering=0) as file:
        written = file.write(b"x" * (2 << 20))
        assert 0 < written <= 1 << 20, f"{written} bytes fit into a directory of 1 MiB"
    return "+an empty directory in memory, of limited size"


def _probe_landlock() -> str:
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    rules = landlock.Ruleset()
    rules.allow(["/usr/lib"])
    rules.restrict()
    os.listdir("/usr/lib")
    _must_fail("reading /etc/passwd", lambda: os.open("/etc/passwd", os.O_RDONLY))
    return f"+interface version {landlock.version()}"


def _probe_seccomp() -> str:
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    seccomp.install(os.getpid())
    _must_fail("a socket", socket.socket)
    _must_fail("a fork", os.fork)
    _must_fail("a signal", lambda: os.kill(os.getppid(), 0))
    instructions = len(seccomp.program(os.getpid())) // 8
    return f"+allow-list for {kernel.machine()}, {instructions} instructions"


def _probe_rlimits() -> str:
    for kind in (resource.RLIMIT_CORE, resource.RLIMIT_FSIZE, resource.RLIMIT_NPROC):
        resource.setrlimit(kind, (0, 0))
    mapped = 1 << 30
    resource.setrlimit(resource.RLIMIT_AS, (mapped, mapped))
    resource.setrlimit(resource.RLIMIT_CPU, (1, 1))
    _must_fail("2 GiB under a limit of 1 GiB", lambda: bytearray(2 << 30))
    return "+processor time, address space, file size, processes, open files, no core"


_PROBES: dict[str, Callable[[], str]] = {
    confinement.NAMESPACES: _probe_namespaces,
    confinement.LANDLOCK: _probe_landlock,
    confinement.SECCOMP: _probe_seccomp,
    confinement.PRIVATE_TMP: _probe_tmp,
    confinement.RLIMITS: _probe_rlimits,
}


if __name__ == "__main__":
    print(json.dumps({name: _in_child(probe) for name, probe in _PROBES.items()}))
