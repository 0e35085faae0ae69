"""A pull's progress as a Rich bar: an observer for people."""

from __future__ import annotations

from types import TracebackType

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.progress import Progress as Bars

from coevo.llm.progress import Progress


class ProgressBar:
    """``with ProgressBar() as observer: locate(name, observer)``: one bar for each step.

    Nothing is drawn before the first step, so a model that is here already shows nothing. Where
    the console is no terminal, each step is one line.
    """

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True)
        self._bars = Bars(
            TextColumn("{task.description}"),
            BarColumn(),
            DownloadColumn(),
            TransferSpeedColumn(),
            TimeRemainingColumn(),
            console=self._console,
        )
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._console.is_terminal and self._tasks:
            self._bars.stop()

    def __call__(self, progress: Progress) -> None:
        new = progress.step not in self._tasks
        if not self._console.is_terminal:
            if new:
                self._tasks[progress.step] = TaskID(0)
                self._console.print(f"{progress.step} …", highlight=False)
            return
        if new:
            if not self._tasks:
                self._bars.start()
            self._tasks[progress.step] = self._bars.add_task(progress.step, total=None)
        self._bars.update(
            self._tasks[progress.step], completed=progress.done, total=progress.total or None
        )
