"""What is printed of a run: header, closing lines, ``coevo show`` and ``coevo eval``."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from coevo.display import gap
from coevo.error import UsageError
from coevo.evaluation import Evaluation, evaluator
from coevo.incumbent import incumbent
from coevo.problems.base import Split
from coevo.problems.registry import load
from coevo.run import Run, read_config
from coevo.sandbox.limits import Limits
from coevo.sandbox.walls import walls
from coevo.store import RunStore

if TYPE_CHECKING:
    from collections.abc import Iterator


def header(run: Run) -> Iterator[Text]:
    """What is about to happen, before it does."""
    config = run.config
    missing = [wall.name for wall in walls() if not wall.stands]
    limits = ", ".join(f"{k} {v:g}" for k, v in config.stopping().items() if v is not None)
    es = config.es
    settings = {k: v for k, v in config.search_settings.items() if isinstance(v, int | str)}
    weights = "fixed" if es.kind == "none" else f"ES {es.kind}, σ {es.sigma:g}, α {es.alpha:g}"
    rows = {
        "problem": f"{run.problem.name}, n = {run.instances.n}, {len(run.instances)} instances",
        "model": run.model.name,
        "weights": weights,
        "search": config.search + "".join(f", {k} {v}" for k, v in settings.items()),
        "limits": limits,
        "seed": str(config.seed),
        "walls": f"MISSING: {', '.join(missing)}" if missing else "all stand",
        "baseline": f"{next(iter(run.problem.baselines))}, {run.baseline.objective:.5f}",
        "writes to": str(run.path),
    }
    if run.model.notice:
        yield Text(f"NOTE: {run.model.notice}", "bold yellow")
    for name, value in rows.items():
        yield Text(f"{name:<10}", "bold") + Text(value)


def closing(
    run: Run, reason: str, held_out: tuple[Evaluation, Evaluation] | None
) -> Iterator[Text]:
    """What came of it."""
    best = run.coevolution.best
    yield Text(f"ended: {reason}", "bold")
    if best is None or held_out is None:
        yield Text("no attempt was valid; try a larger model, or coevo show for the failures")
    else:
        sense, name = run.problem.sense, next(iter(run.problem.baselines))
        yield Text(f"best      {run.path / 'best' / 'heuristic.py'} (attempt {best.number})")
        assert best.objective is not None
        assert run.baseline.objective is not None
        change = gap(best.objective, run.baseline.objective, sense)
        yield Text(f"train     {best.objective:.5f}, {change:+.2%} to {name}")
        test, reference = held_out
        if test.objective is None or reference.objective is None:
            yield Text(f"test      {test.stage.value}: {test.message}", "yellow")
        else:
            change = gap(test.objective, reference.objective, sense)
            yield Text(
                f"test      {test.objective:.5f}, {change:+.2%} to {name} {reference.objective:.5f}"
            )
    yield Text(f"more      coevo resume {run.path} --budget N")


def digest_of(path: Path) -> dict[str, Any]:
    """The figures of a run on disk, finished or not. JSON data."""
    config = read_config(path)
    store = RunStore.open(path / "run.db")
    try:
        attempts, updates = store.attempts(), store.updates()
        seconds, generations = store.seconds(), store.generations()
    finally:
        store.close()
    sense = load(config.problem).sense
    best, curve = None, []
    for attempt in attempts:
        if incumbent([best, attempt], sense) is not best:
            best = attempt
            curve.append([best.number, best.objective])
    operators = Counter(a.operator for a in attempts)
    return {
        "path": str(path),
        "problem": config.problem,
        "n": config.n,
        "model": config.model,
        "es": config.es.kind,
        "seed": config.seed,
        "attempts": len(attempts),
        "budget": config.budget,
        "generations": generations,
        "valid": sum(a.scored for a in attempts),
        "distinct_objectives": len({round(a.objective, 5) for a in attempts if a.scored}),  # type: ignore[arg-type]
        "tokens": sum(a.tokens for a in attempts),
        "seconds": seconds,
        "es_steps": sum(not u["skipped"] for u in updates),
        "stages": dict(Counter(a.stage.value for a in attempts)),
        "operators": {
            name: {
                "attempts": count,
                "valid": sum(a.scored for a in attempts if a.operator == name),
            }
            for name, count in sorted(operators.items())
        },
        "curve": curve,
        "best": None
        if best is None
        else {
            "attempt": best.number,
            "operator": best.operator,
            "objective": best.objective,
            "idea": best.idea,
            "code": best.code,
        },
    }


def overview(summary: dict[str, Any]) -> Iterator[Text]:
    """`digest_of` for people."""
    attempts = summary["attempts"]
    share = f"{summary['valid'] / attempts:.0%}" if attempts else "–"
    yield Text(
        f"{summary['path']}: {summary['problem']}, {summary['model']}, ES {summary['es']}, "
        f"seed {summary['seed']}"
    )
    yield Text(
        f"{attempts} of {summary['budget'] or 'unlimited'} attempts, {share} valid, "
        f"{summary['distinct_objectives']} distinct objectives, {summary['generations']} "
        f"generations, {summary['es_steps']} ES steps, {summary['tokens']} tokens, "
        f"{summary['seconds']:.0f} s"
    )
    yield Text("stages    " + ", ".join(f"{k} {v}" for k, v in summary["stages"].items()))
    for name, row in summary["operators"].items():
        yield Text(f"{name:<10}{row['valid']} valid of {row['attempts']}")
    for number, objective in summary["curve"]:
        yield Text(f"attempt {number:>5}  {objective:.5f}")
    if summary["best"]:
        yield Text(f"idea      {_one_line(summary['best']['idea'])}")


def evaluated(
    source: str,
    name: str,
    n: int | None,
    split: Split,
    count: int | None,
    timeout: float,
    unsafe: bool,
) -> dict[str, Any]:
    """Evaluate a program, beside the problem's first baseline. JSON data."""
    problem = load(name)
    try:
        instances = problem.instances(split, n or problem.default_n, count=count)
    except ValueError as error:
        raise UsageError(str(error)) from None
    with evaluator(problem, instances, Limits(seconds=timeout), unsafe) as opened:
        result = opened.evaluate(source)
        reference = opened.baseline() if result.objective is not None else None
    record: dict[str, Any] = {
        "problem": name,
        "n": instances.n,
        "split": split,
        "instances": len(instances),
        "stage": result.stage.value,
        "message": result.message,
        "objective": result.objective,
        "seconds": result.seconds,
    }
    if result.objective is not None and reference is not None:
        assert reference.objective is not None
        record["baseline_name"] = next(iter(problem.baselines))
        record["baseline"] = reference.objective
        record["gap"] = gap(result.objective, reference.objective, problem.sense)
    return record


def _one_line(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text)[:200]
