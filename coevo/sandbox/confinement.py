"""Putting up the walls: the zygote's once, then each candidate's own.

`WALLS` names them; `walls.py` probes them, and `coevo doctor` prints what it found.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Callable
from dataclasses import dataclass, field

from coevo.sandbox import kernel, landlock, namespaces, seccomp
from coevo.sandbox.limits import Limits

NAMESPACES, LANDLOCK, SECCOMP = "namespaces", "landlock", "seccomp"
PRIVATE_TMP, RLIMITS = "private-tmp", "rlimits"
WALLS = (NAMESPACES, LANDLOCK, SECCOMP, PRIVATE_TMP, RLIMITS)

_OPEN_FILES = 64
_MIB = 1 << 20


@dataclass
class Confinement:
    """The walls of one sandbox. ``missing`` are those that this machine cannot set up."""

    limits: Limits
    missing: tuple[str, ...] = ()
    _view: list[str] = field(default_factory=list)
    _own_pids: int = -1  # file descriptor of the zygote's process namespace
    _mapped: int = 0  # bytes of address space that the zygote has mapped
    _demote: bool = False  # this is root, who owns too much: candidates become ``nobody``

    def enter_namespaces(self) -> None:
        """Zygote, at the very start: new namespaces, with this process as their first."""
        if NAMESPACES not in self.missing:
            namespaces.enter()
            namespaces.fork_as_first_process()

    def narrow_view(self, paths: list[str]) -> None:
        """Zygote, when everything is loaded: hide all files but the directories ``paths``."""
        with open("/proc/self/statm") as file:
            self._mapped = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        self._demote = os.geteuid() == 0 and namespaces.is_mapped(namespaces.NOBODY)
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("500")  # short of memory, the kernel should end this, not the run
        if NAMESPACES in self.missing:
            self._view = namespaces.outermost(paths)
        else:
            self._own_pids = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
            self._view = namespaces.show_only(paths)

    def fork(self) -> int:
        """Zygote: like `os.fork`, but the child is process 1 of a process namespace of its own."""
        if NAMESPACES in self.missing:
            return os.fork()
        kernel.unshare(kernel.CLONE_NEWPID)
        pid = -1
        try:
            pid = os.fork()
        finally:
            if pid != 0:
                kernel.setns(self._own_pids, kernel.CLONE_NEWPID)
        return pid

    def confine(self, zygote: int, before_filter: Callable[[], None] | None = None) -> None:
        """Candidate's process: put up every remaining wall. There is no way back.

        ``zygote`` is a pidfd: with that process, this one dies. ``before_filter`` is called just
        before threads can no longer be started.
        """
        os.setsid()
        rules = None
        private_tmp = PRIVATE_TMP not in self.missing and NAMESPACES not in self.missing
        if private_tmp:
            namespaces.mount_private_tmp(self.limits.tmp_mb)
            os.chdir(namespaces.PRIVATE_TMP)
        if LANDLOCK not in self.missing:
            rules = landlock.Ruleset()
            rules.allow(self._view)
            if private_tmp:
                rules.allow([namespaces.PRIVATE_TMP], write=True)
        if self._demote:
            os.setresgid(*[namespaces.NOBODY] * 3)
            os.setresuid(*[namespaces.NOBODY] * 3)
        kernel.drop_capabilities()
        kernel.prctl(kernel.PR_SET_DUMPABLE, 0)  # nobody of the same user may trace this
        namespaces.die_with_parent(zygote)
        if rules is not None:
            rules.restrict()
        self._limit_resources(private_tmp)
        if before_filter is not None:
            before_filter()
        _limit(resource.RLIMIT_NPROC, 0)
        kernel.close_all_but({0, 1, 2, 3})
        if SECCOMP not in self.missing:
            seccomp.install(os.getpid())

    def _limit_resources(self, private_tmp: bool) -> None:
        _limit(resource.RLIMIT_CORE, 0)
        _limit(resource.RLIMIT_CPU, self.limits.cpu_whole_seconds)
        _limit(resource.RLIMIT_AS, self._mapped + self.limits.memory_mb * _MIB)
        _limit(resource.RLIMIT_FSIZE, self.limits.tmp_mb * _MIB if private_tmp else 0)
        _limit(resource.RLIMIT_NOFILE, _OPEN_FILES)
        _limit(resource.RLIMIT_MEMLOCK, 0)


def _limit(kind: int, value: int) -> None:
    _, hard = resource.getrlimit(kind)
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    resource.setrlimit(kind, (value, value))
