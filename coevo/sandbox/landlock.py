"""Landlock: read these directories, write that one, and nothing else of the file system.

See https://docs.kernel.org/userspace-api/landlock.html. Newer kernels also refuse TCP, signals and
abstract sockets to the outside; what the running kernel knows is used.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable

from coevo.sandbox.kernel import syscall

_WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 1, 1 << 2, 1 << 3
_REMOVE_DIR, _REMOVE_FILE, _MAKE_DIR, _MAKE_REG = 1 << 4, 1 << 5, 1 << 7, 1 << 8
_REFER, _TRUNCATE = 1 << 13, 1 << 14
_READ = _READ_FILE | _READ_DIR
_WRITE = _READ | _WRITE_FILE | _REMOVE_DIR | _REMOVE_FILE | _MAKE_DIR | _MAKE_REG
_FS_BITS = {1: 13, 2: 14, 3: 15, 4: 15}  # rights known to each version of the interface; later 16
_VERSION_FLAG, _PATH_BENEATH = 1, 1


class _Ruleset(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("fs", "net", "scoped")]


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = [("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32)]


def version() -> int:
    """The kernel's version of the Landlock interface, 1 or more.

    Raises `OSError` if the kernel has none, or has it switched off.
    """
    return syscall("landlock_create_ruleset", None, 0, _VERSION_FLAG)


class Ruleset:
    """A set of rules; ``restrict`` puts this thread and its later children under them, for good."""

    def __init__(self) -> None:
        known = version()
        self._handled = (1 << _FS_BITS.get(known, 16)) - 1
        attr = _Ruleset(self._handled, 3, 3)
        size = 8 if known < 4 else 16 if known < 6 else 24
        self.fd = syscall("landlock_create_ruleset", attr, size, 0)

    def allow(self, paths: Iterable[str], write: bool = False) -> None:
        """Allow reading, or reading and writing, below each of ``paths``."""
        rights = (_WRITE | _REFER | _TRUNCATE if write else _READ) & self._handled
        for path in paths:
            fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
            try:
                rule = _PathBeneath(rights, fd)
                syscall("landlock_add_rule", self.fd, _PATH_BENEATH, rule, 0)
            finally:
                os.close(fd)

    def restrict(self) -> None:
        """Needs no_new_privs."""
        syscall("landlock_restrict_self", self.fd, 0)
        os.close(self.fd)
