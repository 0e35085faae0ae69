"""The main job: how good, how varied and how fast is `coevo run --problem tsp --n 50`?

    python bench/main_job.py                        default model, budget 1000, three seeds
    python bench/main_job.py --models qwen2.5-coder-0.5b qwen2.5-coder-1.5b --es lowrank none

One cell is one run by the command line, in a directory named after the cell; a finished cell is
read, an unfinished one resumed, so the whole can be stopped and started. Rows go to
``bench/results/main_job.jsonl`` with their curves. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
COEVO = [sys.executable, "-m", "coevo.cli"]
COLUMNS = (
    ("model", "<20"),
    ("es", "<8"),
    ("seed", ">4"),
    ("attempts", ">8"),
    ("minutes", ">8.1f"),
    ("valid_percent", ">13.1f"),
    ("distinct", ">8"),
    ("train", ">9.5f"),
    ("test", ">9.5f"),
)


def cell(runs: Path, model: str, es: str, seed: int, budget: int) -> dict[str, Any]:
    """One row: run it, or what is missing of it, and read what came out."""
    home = runs / f"{model}-{es}-s{seed}-b{budget}"
    found = sorted(home.glob("*/run.db"))
    if found:
        command = [*COEVO, "resume", str(found[0].parent)]
    else:
        command = [*COEVO, "run", "--problem", "tsp", "--n", "50", "--model", model, "--es", es]
        command += ["--seed", str(seed), "--budget", str(budget), "--runs", str(home)]
    if not (found and (found[0].parent / "best" / "best.json").exists() and _done(found[0])):
        home.mkdir(parents=True, exist_ok=True)
        with open(home / "log.txt", "a") as log:
            subprocess.run(command, check=True, cwd=ROOT, stdout=log, stderr=log)
    path = next(home.glob("*/run.db")).parent
    shown = subprocess.run(
        [*COEVO, "show", str(path), "--json"], check=True, cwd=ROOT, capture_output=True, text=True
    )
    summary = json.loads(shown.stdout)
    best = json.loads((path / "best" / "best.json").read_text())
    return {
        "model": model,
        "es": es,
        "seed": seed,
        "attempts": summary["attempts"],
        "minutes": summary["seconds"] / 60,
        "valid_percent": 100 * summary["valid"] / summary["attempts"],
        "distinct": summary["distinct_objectives"],
        "train": best["train"],
        "test": best["test"],
        "baseline_test": best["test_baseline"],
        "tokens": summary["tokens"],
        "es_steps": summary["es_steps"],
        "stages": summary["stages"],
        "curve": summary["curve"],
        "code": summary["best"]["code"],
    }


def _done(database: Path) -> bool:
    return "test" in json.loads((database.parent / "best" / "best.json").read_text())


def record(out: Path, row: dict[str, Any]) -> None:
    """Write the row, in place of an earlier one of the same cell."""
    out.parent.mkdir(parents=True, exist_ok=True)
    lines = out.read_text().splitlines() if out.exists() else []
    kept = [line for line in lines if _name(json.loads(line)) != _name(row)]
    out.write_text("\n".join([*kept, json.dumps(row)]) + "\n")


def _name(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["model"], row["es"], row["seed"], row["attempts"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--models", nargs="+", default=["qwen2.5-coder-0.5b"])
    parser.add_argument("--es", nargs="+", default=["lowrank"])
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    parser.add_argument("--budget", type=int, default=1000)
    parser.add_argument("--runs", type=Path, default=ROOT / "runs" / "main_job")
    parser.add_argument("--out", type=Path, default=ROOT / "bench" / "results" / "main_job.jsonl")
    parser.add_argument("--quick", action="store_true", help="one seed, 24 attempts, not recorded")
    args = parser.parse_args()
    if args.quick:
        args.seeds, args.budget = args.seeds[:1], 24
        args.runs, args.out = Path(tempfile.mkdtemp(prefix="main_job-")), None
    print("  ".join(f"{name:{form.split('.')[0].rstrip('f')}}" for name, form in COLUMNS))
    rows = []
    for model, es, seed in itertools.product(args.models, args.es, args.seeds):
        row = cell(args.runs, model, es, seed, args.budget)
        rows.append(row)
        print("  ".join(f"{row[name]:{form}}" for name, form in COLUMNS), flush=True)
        if args.out is not None:
            record(args.out, row)
    summary = {}
    for name in ("minutes", "valid_percent", "distinct", "train", "test"):
        values = [row[name] for row in rows]
        summary[name] = {"median": statistics.median(values), "all": values}
    print(json.dumps({"bench": "main_job", "budget": args.budget, **summary}))


if __name__ == "__main__":
    main()
