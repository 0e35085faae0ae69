"""What a run shows while it runs. Observers: the algorithm knows nothing of them."""

from __future__ import annotations

import sys
import time
from collections import deque

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.text import Text

from coevo.attempt import Attempt
from coevo.es.directions import Update
from coevo.llm.base import Completion
from coevo.observer import Observer
from coevo.problems.base import Sense
from coevo.stop.base import Progress as RunProgress


def gap(objective: float, reference: float, sense: Sense) -> float:
    """Share by which the objective is worse than the reference; negative if it is better."""
    worse = objective - reference if sense == "min" else reference - objective
    return worse / abs(reference) if reference else float("nan")


class Counts(Observer):
    """Keeps the figures that both displays show."""

    def __init__(self, budget: int | None, baseline: float, sense: Sense) -> None:
        self.budget = budget
        self.baseline = baseline
        self.sense: Sense = sense
        self.attempts = 0
        self.valid = 0
        self.steps = 0
        self.skipped = ""
        self.best: Attempt | None = None
        self.writing = (0, 0)  # replies written of the generation in flight
        self._recent: deque[tuple[float, int, int]] = deque(maxlen=400)
        self._tokens = 0
        self._begun = time.perf_counter()

    def carry_over(self, attempts: list[Attempt], best: Attempt | None) -> None:
        """Count the attempts of earlier sittings."""
        self.attempts += len(attempts)
        self.valid += sum(attempt.scored for attempt in attempts)
        self.best = best

    def proposed(self, attempts: list[Attempt]) -> None:
        self.writing = (sum(bool(a.reply) for a in attempts), len(attempts))
        self._mark()

    def written(self, attempt: Attempt, completion: Completion) -> None:
        self.writing = (self.writing[0] + 1, self.writing[1])
        self._tokens += completion.tokens
        self._mark()

    def judged(self, attempt: Attempt) -> None:
        self.attempts += 1
        self.valid += attempt.scored
        self._mark()

    def improved(self, attempt: Attempt) -> None:
        self.best = attempt

    def updated(self, update: Update) -> None:
        self.skipped = update.skipped
        self.steps += not update.skipped

    def _mark(self) -> None:
        self._recent.append((time.perf_counter(), self._tokens, self.attempts))

    @property
    def tokens_per_s(self) -> float:
        """Over the last few hundred events, evaluation time included."""
        (then, tokens, _), (now, more, _) = self._recent[0], self._recent[-1]
        return (more - tokens) / (now - then) if now > then else 0.0

    def figures(self) -> str:
        parts = [f"valid {self.valid / self.attempts:.0%}" if self.attempts else "valid –"]
        if self.best is not None and self.best.objective is not None:
            to_baseline = gap(self.best.objective, self.baseline, self.sense)
            parts.append(f"best {self.best.objective:.5f} ({to_baseline:+.2%} to baseline)")
        if self._recent:
            parts.append(f"{self.tokens_per_s:.0f} tokens/s")
        if self.steps or self.skipped:
            parts.append(f"ES {self.steps} steps" + (", last skipped" if self.skipped else ""))
        if (eta := self._eta()) is not None:
            parts.append(f"ETA {_duration(eta)}")
        return "  ".join(parts)

    def _eta(self) -> float | None:
        if not self.budget or not self._recent:
            return None
        (then, _, before), (now, _, done) = self._recent[0], self._recent[-1]
        if done == before or now == then:
            return None
        return (self.budget - done) * (now - then) / (done - before)


class PlainDisplay(Counts):
    """A line per generation and per improvement: for logs, pipes and CI."""

    def improved(self, attempt: Attempt) -> None:
        super().improved(attempt)
        print(
            f"  new best {attempt.objective:.5f}  attempt {attempt.number} "
            f"({attempt.operator})  {_printable(attempt.idea)[:70]}",
            flush=True,
        )

    def updated(self, update: Update) -> None:
        super().updated(update)
        if update.skipped:
            print(f"  no ES step: {update.skipped}", flush=True)

    def closed(self, progress: RunProgress) -> None:
        of = f"/{self.budget}" if self.budget else ""
        print(f"{self.attempts}{of} attempts  {self.figures()}", flush=True)

    def __enter__(self) -> PlainDisplay:
        return self

    def __exit__(self, *exc: object) -> None:
        sys.stdout.flush()


class LiveDisplay(Counts):
    """A progress bar and the figures, redrawn in place on a terminal."""

    def __init__(
        self, budget: int | None, baseline: float, sense: Sense, console: Console
    ) -> None:
        super().__init__(budget, baseline, sense)
        self._bar = Progress(
            TextColumn("attempts"), BarColumn(bar_width=None), MofNCompleteColumn(),
            console=console,
        )
        self._task = self._bar.add_task("attempts", total=budget)
        self._live = Live(console=console, get_renderable=self._render, refresh_per_second=4)

    def improved(self, attempt: Attempt) -> None:
        super().improved(attempt)
        self._live.console.print(
            Text(f"new best {attempt.objective:.5f}  ", "bold green")
            + Text(f"attempt {attempt.number} ({attempt.operator})  ", "dim")
            + Text(_printable(attempt.idea)[:80])
        )

    def _render(self) -> Group:
        self._bar.update(self._task, completed=self.attempts)
        written, of = self.writing
        state = f"writing {written}/{of}" if written < of else "evaluating"
        return Group(self._bar, Text(self.figures()), Text(state, "dim"))

    def __enter__(self) -> LiveDisplay:
        self._live.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        self._live.__exit__(None, None, None)


def display(
    console: Console, budget: int | None, baseline: float, sense: Sense
) -> LiveDisplay | PlainDisplay:
    """The live display on a terminal, plain lines elsewhere."""
    if console.is_terminal:
        return LiveDisplay(budget, baseline, sense, console)
    return PlainDisplay(budget, baseline, sense)


def _duration(seconds: float) -> str:
    minutes, seconds = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes}:{seconds:02} min"


def _printable(text: str) -> str:
    """Model-written text with nothing in it that moves the cursor."""
    return "".join(c if c.isprintable() else " " for c in text)
