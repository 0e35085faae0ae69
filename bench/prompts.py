"""Which wording of the prompts pays? Arms of `coevo.search.wording`, side by side, on a real model.

Each arm is a short search of its own, from the same seed: i1, then generations of the operators,
written by the model, parsed, run in the sandbox and scored, as in a run. An arm is the name of a
preset, with decoding settings after an @ if they differ from the rest:

    python bench/prompts.py --arms plain regrow regrow@temperature=0.8,min_p=0.05

The last line is one JSON object; with --out it is appended to a JSON-lines file as well.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from coevo.attempt import Attempt
from coevo.judge import Judge
from coevo.llm.base import LanguageModel, Sampling
from coevo.llm.models import locate
from coevo.llm.transformers import TransformersModel
from coevo.problems.base import Problem
from coevo.problems.registry import load
from coevo.sandbox.limits import Limits
from coevo.sandbox.pool import SandboxPool
from coevo.search.eoh import EoH, EoHSettings
from coevo.search.wording import PRESETS
from coevo.streams import stream_seed

QUICK_ARMS = ("plain", "opening-rule")
COLUMNS = (
    ("arm", "arm", "<28"),
    ("attempts", "attempts", ">8"),
    ("valid %", "valid_percent", ">8.1f"),
    ("distinct", "distinct", ">8"),
    ("per 100", "distinct_per_100", ">8.1f"),
    ("best", "best", ">8.4f"),
    ("tokens", "tokens_per_attempt", ">7.0f"),
    ("seconds", "seconds", ">8.1f"),
)


@dataclass(frozen=True)
class Arm:
    """A wording and a way to decode."""

    name: str
    wording: str
    sampling: Sampling

    @classmethod
    def parse(cls, text: str, sampling: Sampling) -> Arm:
        wording, _, changes = text.partition("@")
        if wording not in PRESETS:
            raise SystemExit(f"no wording is called {wording!r}; choose from: {', '.join(PRESETS)}")
        values: dict[str, Any] = {}
        for change in filter(None, changes.split(",")):
            key, _, value = change.partition("=")
            if key not in asdict(sampling):
                raise SystemExit(
                    f"{text}: no decoding setting {key!r}; {', '.join(asdict(sampling))}"
                )
            values[key] = type(getattr(sampling, key))(value)
        return cls(text, wording, replace(sampling, **values))


def search(
    arm: Arm,
    settings: EoHSettings,
    problem: Problem,
    model: LanguageModel,
    judge: Judge,
    samples: int,
    seed: int,
) -> tuple[list[Attempt], float]:
    """One arm: its attempts, judged, and the wall-clock seconds they took."""
    method = EoH(problem, seed=seed, continues=model.continues, settings=settings)
    attempts: list[Attempt] = []
    started = time.perf_counter()
    while len(attempts) < samples:
        generation = len(method.record.logbook)
        proposals = method.ask(samples - len(attempts))
        numbers = range(len(attempts) + 1, len(attempts) + len(proposals) + 1)
        completions = model.generate(
            [proposal.prompt for proposal in proposals],
            arm.sampling,
            [stream_seed(seed, "completion", number) for number in numbers],
        )
        written = [
            Attempt(n, generation, proposal, reply=c.text, tokens=c.tokens, write_s=c.seconds)
            for n, proposal, c in zip(numbers, proposals, completions, strict=True)
        ]
        batch = sorted(judge.judge(written), key=lambda attempt: attempt.number)
        method.tell(batch)
        attempts += batch
    return attempts, time.perf_counter() - started


def summary(attempts: Sequence[Attempt], problem: Problem) -> dict[str, Any]:
    """Figures of some attempts; percentages and rates of all attempts, failures included."""
    values = [round(a.objective, 5) for a in attempts if a.scored and a.objective is not None]
    best = min if problem.sense == "min" else max
    stages: dict[str, int] = {}
    for attempt in attempts:
        stages[attempt.stage.value] = stages.get(attempt.stage.value, 0) + 1
    return {
        "attempts": len(attempts),
        "valid_percent": 100 * len(values) / len(attempts),
        "distinct": len(set(values)),
        "distinct_per_100": 100 * len(set(values)) / len(attempts),
        "best": best(values) if values else float("nan"),
        "tokens_per_attempt": sum(a.tokens for a in attempts) / len(attempts),
        "stages": stages,
    }


def by_operator(attempts: Sequence[Attempt], problem: Problem) -> dict[str, dict[str, Any]]:
    names = dict.fromkeys(attempt.operator for attempt in attempts)
    return {n: summary([a for a in attempts if a.operator == n], problem) for n in names}


def row(figures: dict[str, Any]) -> str:
    return " ".join(f"{figures.get(key, ''):{form}}" for _, key, form in COLUMNS)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--arms", nargs="+", help="default: every preset")
    parser.add_argument("--model", default="qwen2.5-coder-0.5b", help="registry name or path")
    parser.add_argument("--operators", nargs="+", default=["e1", "e2", "m1", "m2"], help="after i1")
    parser.add_argument("--samples", type=int, default=96, help="attempts an arm")
    parser.add_argument("--initial", type=int, default=16, help="i1 attempts among them")
    parser.add_argument("--problem", default="tsp")
    parser.add_argument("--n", type=int, help="instance size; default: the problem's")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--batch", type=int, default=32, help="rows of the decode batch")
    parser.add_argument("--threads", type=int, help="torch threads; default: one per core")
    parser.add_argument("--max-new-tokens", type=int, default=Sampling.max_new_tokens)
    parser.add_argument("--quick", action="store_true", help="two arms, 8 attempts each")
    parser.add_argument("--out", type=Path, help="append the JSON object to this file")
    parser.add_argument(
        "--attempts", type=Path, help="append every attempt to this JSON-lines file"
    )
    return parser.parse_args()


def main() -> None:
    args = arguments()
    if args.quick:
        args.samples, args.initial, args.max_new_tokens = 8, 4, 160
    base = Sampling(max_new_tokens=args.max_new_tokens)
    names = args.arms or (QUICK_ARMS if args.quick else tuple(PRESETS))
    arms = [Arm.parse(name, base) for name in names]
    problem = load(args.problem)
    instances = problem.instances("train", args.n or problem.default_n)
    result: dict[str, Any] = {
        "bench": "prompts", "model": args.model, "problem": problem.name, "n": instances.n,
        "samples": args.samples, "operators": args.operators, "seed": args.seed, "arms": {},
    }  # fmt: skip
    with ExitStack() as stack:
        pool = stack.enter_context(SandboxPool(problem, instances, Limits()))
        model = TransformersModel(
            locate(args.model), name=args.model, batch=args.batch, threads=args.threads
        )
        print(" ".join(f"{title:{form.split('.')[0]}}" for title, _, form in COLUMNS), flush=True)
        for arm in arms:
            settings = EoHSettings(
                operators=tuple(args.operators), initial=args.initial, wording=arm.wording
            )
            judge = Judge(problem, instances, pool)
            attempts, seconds = search(
                arm, settings, problem, model, judge, args.samples, args.seed
            )
            figures = {"arm": arm.name, **summary(attempts, problem), "seconds": seconds}
            print(row(figures), flush=True)
            operators = by_operator(attempts, problem)
            for name, part in operators.items():
                print(row({**part, "arm": f"  {name}", "seconds": 0.0}), flush=True)
            result["arms"][arm.name] = {
                **figures, "operators": operators, "sampling": asdict(arm.sampling),
            }  # fmt: skip
            if args.attempts:
                with args.attempts.open("a") as file:
                    file.writelines(
                        json.dumps({"arm": arm.name, **asdict(a)}) + "\n" for a in attempts
                    )
    line = json.dumps(result)
    if args.out:
        with args.out.open("a") as file:
            file.write(line + "\n")
    print(line)


if __name__ == "__main__":
    main()
