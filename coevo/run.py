"""A run on disk: put its parts together, start it, resume it, close it.

    runs/2026-11-29T18-02-tsp50-eoh-s0/
      config.toml                    settings as resolved, versions, hardware
      run.db                         the only truth (`coevo.store`)
      best/heuristic.py, best.json   the incumbent, as soon as there is one
      es/history.json                the weights' path, exported from run.db
"""

from __future__ import annotations

import dataclasses
import fcntl
import json
import os
import platform
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import tomli_w

from coevo.attempt import Attempt
from coevo.coevolution import Coevolution
from coevo.config import RunConfig
from coevo.error import CoevoError, UsageError
from coevo.es import history
from coevo.es.strategy import EvolutionStrategy
from coevo.evaluation import Evaluation, Evaluator, evaluator
from coevo.judge import Judge
from coevo.llm.backends import backend
from coevo.llm.base import EvolvableModel, LanguageModel
from coevo.observer import Observer
from coevo.problems.base import Instances, Problem
from coevo.problems.registry import load
from coevo.sandbox.pool import SandboxPool
from coevo.search.registry import make
from coevo.stop.registry import rules
from coevo.store import RunStore

PACKAGES = ("coevo", "torch", "transformers", "numpy", "numba", "deap")
HORIZON = 1000  # attempts that the schedule of sigma is made for if no budget is given


@dataclass
class Run:
    """An open run: ready to go on, and to be closed."""

    path: Path
    config: RunConfig
    problem: Problem
    instances: Instances
    model: LanguageModel
    baseline: Evaluation  # the problem's first baseline on the train set
    coevolution: Coevolution

    def go(self, observer: Observer) -> str:
        """Run to the end. Returns why it ended. The incumbent is on disk at all times."""
        self.coevolution.observer = _Recorder(self.path, observer)
        return self.coevolution.run()

    def held_out(self) -> tuple[Evaluation, Evaluation]:
        """(incumbent, baseline) on the test set, which nothing was selected on."""
        best = self.coevolution.best
        assert best is not None
        tests = self.problem.instances("test", self.instances.n)
        limits, unsafe = self.config.limits, self.config.unsafe_sandbox
        with evaluator(self.problem, tests, limits, unsafe) as opened:
            return opened.evaluate(best.code), opened.baseline()

    def export(self, held_out: tuple[Evaluation, Evaluation] | None = None) -> None:
        """Write what is derived from run.db: the incumbent and the weights' history."""
        best, store = self.coevolution.best, self.coevolution.store
        if best is not None:
            write_best(self.path, best, held_out)
        if updates := store.updates():
            (self.path / "es").mkdir(exist_ok=True)
            write_whole(
                self.path / "es" / "history.json", history.dump(updates, self.config.model)
            )


class _Recorder(Observer):
    """Keeps best/ up to date, and passes everything on."""

    def __init__(self, path: Path, observer: Observer) -> None:
        self._path = path
        self._observer = observer
        for name in ("proposed", "written", "judged", "updated", "closed"):
            setattr(self, name, getattr(observer, name))

    def improved(self, attempt: Attempt) -> None:
        write_best(self._path, attempt)
        self._observer.improved(attempt)


@contextmanager
def start(config: RunConfig, runs: Path, hardware: dict[str, Any]) -> Iterator[Run]:
    """Start a new run in a new directory under ``runs``. Everything that can be wrong is found
    before the directory is made.
    """
    config.check()
    with ExitStack() as stack:
        parts = _Parts(config, stack)
        path = _new_directory(runs, config, parts.instances.n)
        stack.enter_context(_locked(path))
        document = tomli_w.dumps({"machine": {**hardware, **_versions()}})
        # with the method's own defaults resolved: they may be others in the next version
        resolved = config.changed({"search_settings": dataclasses.asdict(parts.search.settings)})
        write_whole(path / "config.toml", resolved.to_toml() + "\n" + document)
        store = RunStore.create(path / "run.db")
        stack.callback(store.close)
        store.set_fact("batches", str(parts.batches))
        if isinstance(parts.model, EvolvableModel):
            store.set_fact("base_digest", parts.model.digest())
        yield parts.run(path, store)


@contextmanager
def resume(path: Path, budget: int | None = None) -> Iterator[Run]:
    """Go on with a run, whatever ended it; ``budget`` replaces its budget of attempts."""
    config = read_config(path)
    config = config.changed({"budget": budget})
    config.check()
    with ExitStack() as stack:
        stack.enter_context(_locked(path))
        store = RunStore.open(path / "run.db")
        stack.callback(store.close)
        # the schedule of sigma stays what it was, whatever the budget is now
        parts = _Parts(config, stack, batches=int(store.fact("batches") or 1))
        parts.restore(store)
        yield parts.run(path, store)


class _Parts:
    """A run's parts, opened cheapest first, so that a mistake costs as little as possible."""

    def __init__(
        self, config: RunConfig, stack: ExitStack, batches: int | None = None
    ) -> None:
        self.config = config
        self.problem = load(config.problem)
        n = config.n if config.n is not None else self.problem.default_n
        try:
            self.instances = self.problem.instances("train", n)
        except ValueError as error:
            raise UsageError(str(error)) from None
        open_model = backend(config.llm)
        self.pool = stack.enter_context(
            SandboxPool(
                self.problem,
                self.instances,
                config.limits,
                workers=config.workers or os.cpu_count() or 1,
                unsafe=config.unsafe_sandbox,
            )
        )
        self.baseline = Evaluator(self.problem, self.instances, self.pool).baseline()
        self.model = open_model(config.model, config.batch)
        if config.es.kind != "none" and not isinstance(self.model, EvolvableModel):
            raise UsageError(f"the weights of {self.model.name} cannot evolve; add --es none")
        try:
            self.search = make(
                config.search,
                self.problem,
                config.seed,
                self.model.continues,
                **config.search_settings,
            )
        except ValueError as error:
            raise UsageError(f"search_settings: {error}") from None
        self.batches = batches or self.search.batches(config.budget or HORIZON)
        self.strategy = None
        if config.es.kind != "none":
            self.strategy = EvolutionStrategy(config.es, config.seed, self.batches)
        self.judge = Judge(self.problem, self.instances, self.pool)

    def restore(self, store: RunStore) -> None:
        """Bring search, strategy and weights to where the last closed generation left them."""
        self.judge.remember(store.attempts())
        last = store.last_state()
        if last is not None:
            _, search, strategy = last
            self.search.restore(search)
            if self.strategy and strategy:
                self.strategy.restore(strategy)
        if isinstance(self.model, EvolvableModel):
            if store.fact("base_digest") not in (None, self.model.digest()):
                raise CoevoError(
                    f"{self.config.model} now has other weights than when this run began; "
                    "pull the model it began with"
                )
            try:
                history.replay(store.updates(), self.model.apply, self.model.digest)
            except history.HistoryError as error:
                raise CoevoError(f"{store.path}: {error}") from None

    def run(self, path: Path, store: RunStore) -> Run:
        coevolution = Coevolution(
            seed=self.config.seed,
            problem=self.problem,
            search=self.search,
            model=self.model,
            judge=self.judge,
            store=store,
            rules=rules(self.config.stopping()),
            sampling=self.config.sampling,
            strategy=self.strategy,
        )
        return Run(
            path, self.config, self.problem, self.instances, self.model, self.baseline, coevolution
        )


def read_config(path: Path) -> RunConfig:
    """The settings of the run at ``path``."""
    file = path / "config.toml"
    if not file.is_file():
        raise UsageError(f"no run is at {path}: it has no config.toml; give a directory under runs")
    return RunConfig.from_toml(file.read_text(encoding="utf-8"), str(file))


def write_best(
    path: Path, best: Attempt, held_out: tuple[Evaluation, Evaluation] | None = None
) -> None:
    """best/heuristic.py and best/best.json, each whole or not at all."""
    (path / "best").mkdir(exist_ok=True)
    write_whole(path / "best" / "heuristic.py", best.code)
    record = {
        "attempt": best.number,
        "operator": best.operator,
        "parents": best.parents,
        "idea": best.idea,
        "train": best.objective,
    }
    if held_out is not None:
        record["test"], record["test_baseline"] = (e.objective for e in held_out)
    write_whole(path / "best" / "best.json", json.dumps(record, indent=1))


def write_whole(path: Path, text: str) -> None:
    """Replace the file's content in one step, so that a reader never sees half of it."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(text, encoding="utf-8")
    os.replace(temporary, path)


def _new_directory(runs: Path, config: RunConfig, n: int) -> Path:
    moment = datetime.now().strftime("%Y-%m-%dT%H-%M")
    problem = re.sub(r"[^A-Za-z0-9]+", "-", config.problem).strip("-")
    name = f"{moment}-{problem}{n}-{config.search}-s{config.seed}"
    for suffix in ("", *(f"-{i}" for i in range(2, 1000))):
        path = runs / (name + suffix)
        try:
            path.mkdir(parents=True)
        except FileExistsError:
            continue
        except OSError as error:
            raise UsageError(
                f"cannot write runs to {runs} ({error.strerror}); choose another with --runs"
            ) from None
        return path
    raise UsageError(f"{runs} holds a thousand runs of this name; choose another with --runs")


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Only one process at a time may write a run."""
    if not path.is_dir():
        raise UsageError(f"no run is at {path}; give a directory under runs")
    with open(path / ".lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CoevoError(f"{path} is being written by another process; wait for it") from None
        yield


def _versions() -> dict[str, str]:
    return {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}}

