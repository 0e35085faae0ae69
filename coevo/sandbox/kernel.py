"""The Linux system calls that the walls are made of and that Python does not offer."""

from __future__ import annotations

import ctypes
import os
import platform
import sys

if sys.platform != "linux":
    raise ImportError("coevo's sandbox needs Linux 5.13 or later; run it there, or in a container")

CLONE_NEWNS = 0x00020000
CLONE_NEWCGROUP = 0x02000000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_NOSUID, MS_NODEV, MS_NOEXEC = 2, 4, 8
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18
MNT_DETACH = 2
MOUNT_ATTR_RDONLY, MOUNT_ATTR_NOSUID, MOUNT_ATTR_NODEV = 1, 2, 4
AT_FDCWD, AT_RECURSIVE = -100, 0x8000

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS = 1, 4, 38
PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 47, 4
CAPABILITY_VERSION_3 = 0x20080522

# The few calls made by number; (x86_64, aarch64), from the kernel's syscall tables.
_NUMBERS = {
    "pivot_root": (155, 41),
    "capset": (126, 91),
    "seccomp": (317, 277),
    "mount_setattr": (442, 442),
    "landlock_create_ruleset": (444, 444),
    "landlock_add_rule": (445, 445),
    "landlock_restrict_self": (446, 446),
}

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long
_libc.mount.argtypes = [ctypes.c_char_p] * 3 + [ctypes.c_ulong, ctypes.c_char_p]
_libc.prctl.argtypes = [ctypes.c_int] + [ctypes.c_ulong] * 4


def machine() -> str:
    """The processor's architecture, ``x86_64`` or ``aarch64``.

    Raises `OSError` on any other: the seccomp filter is written for these two.
    """
    name = platform.machine()
    if name not in ("x86_64", "aarch64"):
        raise OSError(f"the sandbox knows x86_64 and aarch64, not {name}")
    return name


def checked(result: int, what: str) -> int:
    """Return ``result``, or raise the `OSError` of the call ``what`` if it is negative."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def syscall(name: str, *arguments: object) -> int:
    """Make a system call by name; ints are passed as longs, bytes and ctypes objects by address."""
    number = _NUMBERS[name][machine() == "aarch64"]
    passed = []
    for argument in arguments:
        if isinstance(argument, int):
            passed.append(ctypes.c_long(argument))
        elif argument is None or isinstance(argument, bytes):
            passed.append(ctypes.c_char_p(argument))  # type: ignore[arg-type]
        else:
            passed.append(ctypes.byref(argument))  # type: ignore[arg-type]
    return checked(_libc.syscall(ctypes.c_long(number), *passed), name)


def prctl(option: int, a: int = 0, b: int = 0, c: int = 0, d: int = 0) -> int:
    return checked(_libc.prctl(option, a, b, c, d), f"prctl {option}")


def unshare(flags: int) -> None:
    checked(_libc.unshare(ctypes.c_int(flags)), "unshare")


def setns(fd: int, kind: int) -> None:
    checked(_libc.setns(ctypes.c_int(fd), ctypes.c_int(kind)), "setns")


def mount(source: str, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    encoded = [None if text is None else os.fsencode(text) for text in (source, target, kind, data)]
    where = f"mount {kind or 'bind'} on {target}"
    checked(_libc.mount(encoded[0], encoded[1], encoded[2], flags, encoded[3]), where)


def umount(target: str, flags: int) -> None:
    checked(_libc.umount2(os.fsencode(target), ctypes.c_int(flags)), f"umount {target}")


def close_all_but(keep: set[int]) -> None:
    """Close every file descriptor that is not in ``keep``."""
    low = 0
    for fd in sorted(keep):
        if low < fd:  # an empty range would mean all of them
            os.closerange(low, fd)
        low = fd + 1
    os.closerange(low, 1 << 20)


class _MountAttr(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("set", "clear", "propagation", "userns")]


def make_read_only(path: str) -> None:
    """Make the mount at ``path`` and all mounts below it read-only, without set-uid or devices."""
    attributes = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV
    attr = _MountAttr(set=attributes)
    size = ctypes.sizeof(attr)
    syscall("mount_setattr", AT_FDCWD, os.fsencode(path), AT_RECURSIVE, attr, size)


class _CapHeader(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("pid", ctypes.c_int)]


class _CapData(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint32) for name in ("e0", "p0", "i0", "e1", "p1", "i1")]


def drop_capabilities() -> None:
    """Give up every capability, for good: a set-user-id program cannot bring one back."""
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)
    syscall("capset", _CapHeader(CAPABILITY_VERSION_3, 0), _CapData())
