"""The user's cache of models: a directory appears in it whole or not at all.

models/NAME/       a Hugging Face directory, ready
models/NAME.lock   held by the one process that makes it
downloads/NAME/    pieces that have arrived, kept until the model is ready
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from coevo.llm.model_error import ModelError
from coevo.llm.progress import Observer, Progress


def home() -> Path:
    """Where everything is kept: ``$COEVO_HOME``, else ``coevo`` in the XDG cache directory."""
    if own := os.environ.get("COEVO_HOME"):
        return Path(own).expanduser().absolute()
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache).absolute() / "coevo"


def ready(name: str) -> Path | None:
    """The directory of a model that is complete, if it is there."""
    path = home() / "models" / name
    return path if path.is_dir() else None


def downloads(name: str) -> Path:
    """The directory for pieces of a model, made if need be."""
    path = home() / "downloads" / name
    path.mkdir(parents=True, exist_ok=True)
    return path


def make(name: str, size: int, fill: Callable[[Path], None], observer: Observer) -> Path:
    """The directory of a model, filled by ``fill(directory)`` unless it is complete already.

    One process at a time fills; others wait for it. ``size`` is what must be free, in bytes. The
    directory is renamed into place when it is complete; after an error nothing of it is left, and
    what a killed process left is cleared by the next. Raises `ModelError`.
    """
    final = home() / "models" / name
    staged = final.with_name(f"{name}.part")
    try:
        final.parent.mkdir(parents=True, exist_ok=True)
        with _alone(final.with_name(f"{name}.lock"), name, observer):
            if not final.is_dir():
                shutil.rmtree(staged, ignore_errors=True)
                _need(size, final.parent)
                try:
                    staged.mkdir()
                    fill(staged)
                    _flush(staged)
                    staged.rename(final)
                finally:
                    shutil.rmtree(staged, ignore_errors=True)
                shutil.rmtree(home() / "downloads" / name, ignore_errors=True)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise ModelError(
                f"the disk is full: {name} needs {size / 1e9:.1f} GB in {home()}; make room, "
                "or set COEVO_HOME to a directory on another disk"
            ) from error
        if error.errno in (errno.EACCES, errno.EROFS, errno.EPERM):
            raise ModelError(
                f"cannot write to {home()}: set COEVO_HOME to a directory of yours ({error})"
            ) from error
        raise
    return final


@contextmanager
def _alone(path: Path, name: str, observer: Observer) -> Iterator[None]:
    with open(path, "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            observer(Progress(f"wait for another process to fetch {name}"))
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield  # the kernel lets go of the lock when the file closes, however the process ends


def _need(size: int, directory: Path) -> None:
    if shutil.disk_usage(directory).free < size:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _flush(directory: Path) -> None:
    """Have the disk hold the files before their name says that they are complete."""
    for path in directory.iterdir():
        with open(path, "rb") as file:
            os.fsync(file.fileno())


def write_whole(path: Path, text: str) -> None:
    """Write a small file that others see whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    staged = path.with_name(f"{path.name}.{os.getpid()}")
    staged.write_text(text, encoding="utf-8")
    staged.replace(path)
