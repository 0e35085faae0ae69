"""Namespaces: a world with no network, no other process and hardly any files.

The zygote enters user, mount, process, network, IPC, UTS and cgroup namespaces once, and narrows
its file system to a read-only view. Each candidate then gets a process namespace of its own, in
which it is process 1 and sees nobody, and a mount namespace with a temporary directory of its own.
"""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Iterable
from pathlib import Path

from coevo.sandbox import kernel
from coevo.sandbox.kernel import (
    CLONE_NEWCGROUP,
    CLONE_NEWIPC,
    CLONE_NEWNET,
    CLONE_NEWNS,
    CLONE_NEWPID,
    CLONE_NEWUSER,
    CLONE_NEWUTS,
    MNT_DETACH,
    MS_BIND,
    MS_NODEV,
    MS_NOEXEC,
    MS_NOSUID,
    MS_PRIVATE,
    MS_REC,
)

NOBODY = 65534
PRIVATE_TMP = "/private"  # also under the name /tmp, unless Python itself lives there
_ALL = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS
_NEW_ROOT = "/proc"  # exists everywhere, and nothing that is shown lies below it


def enter(flags: int = _ALL | CLONE_NEWCGROUP) -> None:
    """Enter new namespaces, with this user mapped to itself.

    For root, the user ``nobody`` is mapped too, so that a candidate need not be root. Children
    started from here on are in the new process namespace; the caller itself is not. The process
    must have one thread. Raises `OSError` where the kernel refuses.
    """
    uid, gid = os.geteuid(), os.getegid()
    if uid != 0 or not is_mapped(NOBODY):
        kernel.unshare(flags)
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/uid_map", f"{uid} {uid} 1")
        _write("/proc/self/gid_map", f"{gid} {gid} 1")
        return
    # Two users can only be mapped from outside: a helper that stays there writes the maps.
    os.setgroups([])
    waiting, ready = os.pipe()
    outside = os.getpid()
    helper = os.fork()
    if helper == 0:
        failed = 1
        try:
            os.close(ready)
            if os.read(waiting, 1):
                for kind, own in (("gid", gid), ("uid", uid)):
                    _write(f"/proc/{outside}/{kind}_map", f"{own} {own} 1\n{NOBODY} {NOBODY} 1\n")
                failed = 0
        finally:
            os._exit(failed)
    os.close(waiting)
    try:
        kernel.unshare(flags)
        os.write(ready, b"x")
    finally:
        os.close(ready)
        _, status = os.waitpid(helper, 0)
    if status != 0:
        raise OSError("mapping the users of the new namespace failed")


def is_mapped(uid: int) -> bool:
    """Whether the user namespace of this process knows the user ``uid``."""
    for line in Path("/proc/self/uid_map").read_text().splitlines():
        first, _, count = map(int, line.split())
        if first <= uid < first + count:
            return True
    return False


def _write(path: str, text: str) -> None:
    fd = os.open(path, os.O_WRONLY)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)


def fork_as_first_process() -> bool:
    """Fork into the new process namespace; True in the child, its process 1.

    The parent only waits for the child and ends with it; the child is killed with the parent.
    """
    parent = os.pidfd_open(os.getpid())
    pid = os.fork()
    if pid != 0:
        kernel.close_all_but({1, 2})
        _, status = os.waitpid(pid, 0)
        os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
    die_with_parent(parent)
    os.close(parent)
    return True


def die_with_parent(parent_pidfd: int) -> None:
    """Have the kernel kill this process when the parent dies, even if it just did."""
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    if select.select([parent_pidfd], [], [], 0)[0]:
        os._exit(1)


def show_only(paths: Iterable[str]) -> list[str]:
    """Replace the file system by a read-only view of the directories ``paths``.

    They keep their names; nothing else is there but an empty directory for temporary files.
    Returns the directories that stand in the view, without those that lie in another.
    """
    shown = outermost(paths)
    kernel.mount("none", "/", None, MS_REC | MS_PRIVATE)
    kernel.mount("view", _NEW_ROOT, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=1m")
    # The old root is still there under every name, but for the new root's own.
    for path in shown:
        target = _NEW_ROOT + path
        os.makedirs(target, exist_ok=True)
        kernel.mount(path, target, None, MS_BIND | MS_REC)
    for link in ("/lib", "/lib64", "/bin"):  # merged-/usr systems: the loader looks there
        if os.path.islink(link) and not os.path.lexists(_NEW_ROOT + link):
            os.symlink(os.readlink(link), _NEW_ROOT + link)
    os.mkdir(_NEW_ROOT + PRIVATE_TMP)
    if not os.path.exists(_NEW_ROOT + "/tmp"):
        os.symlink(PRIVATE_TMP, _NEW_ROOT + "/tmp")
    os.chdir(_NEW_ROOT)
    kernel.syscall("pivot_root", b".", b".")
    kernel.umount(".", MNT_DETACH)
    os.chdir("/")
    kernel.make_read_only("/")
    return shown


def outermost(paths: Iterable[str]) -> list[str]:
    """The existing directories among ``paths`` that lie in no other of them, by name and by place.

    >>> outermost(["/usr", "/usr/lib"])
    ['/usr']
    """
    found: list[str] = []
    names = {form for path in paths for form in (os.path.abspath(path), os.path.realpath(path))}
    for path in sorted(names):
        inside = any(path == outer or path.startswith(outer + "/") for outer in found)
        if path != "/" and os.path.isdir(path) and not os.path.islink(path) and not inside:
            found.append(path)
    return found


def mount_private_tmp(megabytes: int) -> None:
    """In a mount namespace of its own, give this process an empty temporary directory.

    It is memory of at most ``megabytes`` MiB and goes with the process.
    """
    kernel.unshare(CLONE_NEWNS)
    options = f"mode=0777,size={megabytes}m,nr_inodes=1024"
    kernel.mount("tmp", PRIVATE_TMP, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, options)
