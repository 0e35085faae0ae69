"""The system calls a candidate may make: those of arithmetic, memory and files, and no others.

The filter is an allow-list. What is not on it fails with EPERM, so that a candidate sees an
ordinary `PermissionError`; a call through a foreign calling convention kills the process. There is
no way to start a process or thread, to open a socket, to signal or trace anybody else, to mount, or
to change a limit.
"""

from __future__ import annotations

import ctypes
import errno
import struct
from functools import lru_cache

from coevo.sandbox.kernel import machine, syscall

_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06  # BPF: ld abs, jeq, jge, ret
_NR, _ARCH, _ARGS = 0, 4, 16  # offsets in struct seccomp_data
_SET_MODE_FILTER, _FLAG_TSYNC = 1, 1
_X32 = 0x40000000

# name: (x86_64, aarch64), None where there is none. Frequent ones first: the search is linear.
_ALLOWED: dict[str, tuple[int | None, int | None]] = {
    "read": (0, 63),
    "write": (1, 64),
    "futex": (202, 98),
    "mmap": (9, 222),
    "munmap": (11, 215),
    "madvise": (28, 233),
    "brk": (12, 214),
    "mprotect": (10, 226),
    "mremap": (25, 216),
    "clock_gettime": (228, 113),
    "rt_sigprocmask": (14, 135),
    "rt_sigaction": (13, 134),
    "rt_sigreturn": (15, 139),
    "sigaltstack": (131, 132),
    "restart_syscall": (219, 128),
    "openat": (257, 56),
    "open": (2, None),
    "close": (3, 57),
    "fstat": (5, 80),
    "newfstatat": (262, 79),
    "stat": (4, None),
    "lstat": (6, None),
    "statx": (332, 291),
    "statfs": (137, 43),
    "fstatfs": (138, 44),
    "lseek": (8, 62),
    "pread64": (17, 67),
    "pwrite64": (18, 68),
    "readv": (19, 65),
    "writev": (20, 66),
    "getdents64": (217, 61),
    "access": (21, None),
    "faccessat": (269, 48),
    "faccessat2": (439, 439),
    "readlink": (89, None),
    "readlinkat": (267, 78),
    "getcwd": (79, 17),
    "chdir": (80, 49),
    "fchdir": (81, 50),
    "mkdir": (83, None),
    "mkdirat": (258, 34),
    "rmdir": (84, None),
    "unlink": (87, None),
    "unlinkat": (263, 35),
    "rename": (82, None),
    "renameat": (264, 38),
    "renameat2": (316, 276),
    "ftruncate": (77, 46),
    "fsync": (74, 82),
    "fdatasync": (75, 83),
    "fadvise64": (221, 223),
    "dup": (32, 23),
    "dup2": (33, None),
    "dup3": (292, 24),
    "poll": (7, None),
    "ppoll": (271, 73),
    "select": (23, None),
    "pselect6": (270, 72),
    "nanosleep": (35, 101),
    "clock_nanosleep": (230, 115),
    "clock_getres": (229, 114),
    "gettimeofday": (96, 169),
    "time": (201, None),
    "times": (100, 153),
    "getrandom": (318, 278),
    "getpid": (39, 172),
    "getppid": (110, 173),
    "gettid": (186, 178),
    "getpgrp": (111, None),
    "getpgid": (121, 155),
    "getsid": (124, 156),
    "getuid": (102, 174),
    "geteuid": (107, 175),
    "getgid": (104, 176),
    "getegid": (108, 177),
    "getresuid": (118, 148),
    "getresgid": (120, 150),
    "getgroups": (115, 158),
    "getrlimit": (97, 163),
    "getrusage": (98, 165),
    "sysinfo": (99, 179),
    "uname": (63, 160),
    "getcpu": (309, 168),
    "sched_yield": (24, 124),
    "sched_getaffinity": (204, 123),
    "membarrier": (324, 283),
    "set_robust_list": (273, 99),
    "set_tid_address": (218, 96),
    "rseq": (334, 293),
    "arch_prctl": (158, None),
    "exit": (60, 93),
    "exit_group": (231, 94),
}

# Calls allowed for some values of one argument only: name: (numbers, argument, values).
_FCNTL = (0, 1, 2, 3, 4, 1030)  # F_DUPFD, GETFD, SETFD, GETFL, SETFL, DUPFD_CLOEXEC
_IOCTL = (0x5401, 0x5413, 0x5450, 0x5451)  # TCGETS, TIOCGWINSZ, FIONCLEX, FIOCLEX
_READ_ONLY_PRLIMIT = (0,)  # the new limit must be a null pointer
_PARTLY: dict[str, tuple[tuple[int, int], int, tuple[int, ...]]] = {
    "fcntl": ((72, 25), 1, _FCNTL),
    "ioctl": ((16, 29), 1, _IOCTL),
    "prlimit64": ((302, 261), 2, _READ_ONLY_PRLIMIT),
}
_TGKILL = (234, 131)  # abort() needs it, on the process itself
_CLONE3 = 435  # ENOSYS sends the C library to clone, which is refused


def _instruction(code: int, k: int, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("<HBBI", code, yes, no, k)


def _only_if(number: int, index: int, values: tuple[int, ...]) -> list[bytes]:
    """Allow call ``number`` if its argument ``index`` is one of ``values``, else refuse it."""
    low, high = _ARGS + 8 * index, _ARGS + 8 * index + 4
    body = [_instruction(_LOAD, high), _instruction(_EQUAL, 0, 0, 1 + len(values))]
    body += [_instruction(_LOAD, low)]
    for i, value in enumerate(values):
        body.append(_instruction(_EQUAL, value, len(values) - i, 0))
    body += [_instruction(_RETURN, _ERRNO | errno.EPERM), _instruction(_RETURN, _ALLOW)]
    return [_instruction(_EQUAL, number, 0, len(body)), *body]


@lru_cache(maxsize=2)
def program(pid: int) -> bytes:
    """The filter as BPF instructions of 8 bytes, for a process that knows itself as ``pid``."""
    column = 1 if machine() == "aarch64" else 0
    lines = [
        _instruction(_LOAD, _ARCH),
        _instruction(_EQUAL, _AUDIT_ARCH[machine()], 1, 0),
        _instruction(_RETURN, _KILL),
        _instruction(_LOAD, _NR),
        _instruction(_AT_LEAST, _X32, 0, 1),
        _instruction(_RETURN, _KILL),
    ]
    for numbers in _ALLOWED.values():
        number = numbers[column]
        if number is not None:
            lines += [_instruction(_EQUAL, number, 0, 1), _instruction(_RETURN, _ALLOW)]
    for pair, index, values in _PARTLY.values():
        lines += _only_if(pair[column], index, values)
    lines += _only_if(_TGKILL[column], 0, (pid,))
    lines += [_instruction(_EQUAL, _CLONE3, 0, 1), _instruction(_RETURN, _ERRNO | errno.ENOSYS)]
    lines += [_instruction(_RETURN, _ERRNO | errno.EPERM)]
    return b"".join(lines)


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


def install(pid: int) -> None:
    """Put the filter on every thread of this process, for good. Needs no_new_privs."""
    code = program(pid)
    buffer = ctypes.create_string_buffer(code, len(code))
    address = ctypes.cast(buffer, ctypes.c_void_p)
    filter_ = _Program(len(code) // 8, address)
    syscall("seccomp", _SET_MODE_FILTER, _FLAG_TSYNC, filter_)
