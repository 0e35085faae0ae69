"""Progress of a download that somebody else writes: how fast its directory grows."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from coevo.llm.progress import Observer, Progress

_INTERVAL_S = 0.2


@contextmanager
def watched(directory: Path, start: Progress, share: int, observer: Observer) -> Iterator[None]:
    """Tell ``observer`` how far ``start`` has moved, five times a second, while the block runs.

    What arrives in ``directory`` is added to ``start.done``: at most ``share`` bytes.
    """
    before = _size(directory)
    finished = threading.Event()

    def watch() -> None:
        while not finished.wait(_INTERVAL_S):
            arrived = min(max(0, _size(directory) - before), share)
            observer(replace(start, done=start.done + arrived))

    observer(start)
    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        finished.set()
        watcher.join()


def _size(directory: Path) -> int:
    """Bytes in the directory now; what is renamed or removed meanwhile is passed over."""
    total = 0
    for parent, _, names in os.walk(directory):  # leaves out directories that vanish
        for name in names:
            with suppress(FileNotFoundError):
                total += os.lstat(os.path.join(parent, name)).st_size
    return total
