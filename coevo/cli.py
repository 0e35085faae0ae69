"""The command line. Each verb parses its flags, calls one function and prints what it returns.

Exit codes: 0 done; 1 failed, or the heuristic is invalid; 2 wrong usage; 130 interrupted.
Nothing heavy is imported at the top: ``coevo --help`` must answer at once.
"""

from __future__ import annotations

import json
import secrets
import signal
import sqlite3
import sys
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from coevo import __version__
from coevo.error import CoevoError, UsageError

if TYPE_CHECKING:
    from coevo.run import Run

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Heuristic design by co-evolution: a language model writes heuristics, a sandbox runs "
    "them, and an evolution strategy nudges the model's weights while it writes.",
)
models_app = typer.Typer(no_args_is_help=True, help="The language models that coevo can fetch.")
app.add_typer(models_app, name="models")

RUNS = Path("runs")


class ES(str, Enum):
    lowrank = "lowrank"
    full = "full"
    none = "none"


class SplitName(str, Enum):
    train = "train"
    val = "val"
    test = "test"


class Interrupted(BaseException):
    """Ctrl-C or SIGTERM. Not a KeyboardInterrupt, which the command-line library would take for
    itself and end with exit code 1.
    """


def main() -> None:
    """Run the command line: mendable errors become one line and an exit code."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    try:
        app()
    except CoevoError as error:
        _complain(str(error))
        sys.exit(error.exit_code)
    except Interrupted:
        _complain("interrupted")
        sys.exit(130)
    except BrokenPipeError:
        sys.exit(1)
    except sqlite3.Error as error:
        _complain(f"run.db cannot be written: {error}; make room on its disk, then `coevo resume`")
        sys.exit(1)
    except OSError as error:
        _complain(f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}")
        sys.exit(1)


@app.callback(invoke_without_command=True)
def _root(
    show_version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if show_version:
        print(__version__)
        raise typer.Exit


JsonFlag = Annotated[bool, typer.Option("--json", help="Print one JSON object, for programs.")]


@app.command()
def run(
    problem: Annotated[str | None, typer.Option(help="Problem to solve.")] = None,
    n: Annotated[int | None, typer.Option(help="Size of an instance.")] = None,
    budget: Annotated[int | None, typer.Option(help="Attempts, failures included.")] = None,
    model: Annotated[
        str | None,
        typer.Option(help="Name in `coevo models list`, Hugging Face id, directory or GGUF file."),
    ] = None,
    llm: Annotated[
        str | None, typer.Option(help="Backend: transformers, or scripted (replays a file).")
    ] = None,
    es: Annotated[ES | None, typer.Option(help="Evolution of the weights.")] = None,
    search: Annotated[str | None, typer.Option(help="eoh or sampling.")] = None,
    paper: Annotated[
        bool, typer.Option("--paper", help="Operator by operator, as published.")
    ] = False,
    seed: Annotated[
        int | None, typer.Option(help="Of every random stream. Default: random, printed.")
    ] = None,
    max_seconds: Annotated[
        float | None, typer.Option(help="Stop after this wall-clock time (between generations).")
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option(help="Stop after this many new tokens (between generations).")
    ] = None,
    target: Annotated[
        float | None, typer.Option(help="Stop when the train objective reaches this.")
    ] = None,
    timeout: Annotated[
        float | None, typer.Option(help="Seconds that one heuristic may run on the train set.")
    ] = None,
    batch: Annotated[int | None, typer.Option(help="Sequences decoded together.")] = None,
    workers: Annotated[int | None, typer.Option(help="Candidates run side by side.")] = None,
    config: Annotated[
        Path | None, typer.Option(help="TOML file with settings; flags override it.")
    ] = None,
    runs: Annotated[Path, typer.Option(help="Directory that the run's own is made in.")] = RUNS,
    unsafe_sandbox: Annotated[
        bool,
        typer.Option("--unsafe-sandbox", help="Run although `coevo doctor` misses a wall."),
    ] = False,
) -> None:
    """Search for a better heuristic."""
    from coevo.config import RunConfig
    from coevo.run import start

    if config is not None:
        settings = RunConfig.from_toml(_read(config), str(config))
    else:
        settings = RunConfig(seed=secrets.randbelow(2**31))
    given = {
        "problem": problem,
        "n": n,
        "budget": budget,
        "model": model,
        "llm": llm,
        "search": search,
        "seed": seed,
        "max_seconds": max_seconds,
        "max_tokens": max_tokens,
        "target": target,
        "batch": batch,
        "workers": workers,
        "unsafe_sandbox": unsafe_sandbox or None,
    }
    settings = settings.changed(given)
    if es is not None:
        settings = settings.changed({"es": {"kind": es.value}})
    elif settings.llm == "scripted":
        settings = settings.changed({"es": {"kind": "none"}})
    if paper:
        settings = settings.changed({"search_settings": {"paper": True}})
    if timeout is not None:
        settings = settings.changed({"limits": {"seconds": timeout}})
    with start(settings, runs, _hardware()) as opened:
        _drive(opened)


@app.command()
def resume(
    path: Annotated[Path, typer.Argument(metavar="RUN", help="Directory of the run.")],
    budget: Annotated[int | None, typer.Option(help="New budget of attempts in all.")] = None,
) -> None:
    """Go on with a run that was interrupted or killed, or give it a larger budget."""
    from coevo.run import resume as reopen

    with reopen(path, budget) as opened:
        _drive(opened)


def _drive(opened: Run) -> None:
    """Run to the end, showing how it goes, and print what came of it."""
    from coevo.display import display
    from coevo.summary import closing, header

    console = Console()
    for line in header(opened):
        console.print(line, soft_wrap=True)
    assert opened.baseline.objective is not None
    shown = display(
        console, opened.config.budget, opened.baseline.objective, opened.problem.sense
    )
    coevolution = opened.coevolution
    shown.carry_over(coevolution.store.attempts(), coevolution.best)
    try:
        with shown:
            reason = opened.go(shown)
        held_out = opened.held_out() if coevolution.best is not None else None
        opened.export(held_out)
    except Interrupted:
        opened.export()
        _complain(f"interrupted; go on with: coevo resume {opened.path}")
        raise typer.Exit(130) from None
    for line in closing(opened, reason, held_out):
        console.print(line, soft_wrap=True)
    if coevolution.best is None:
        raise typer.Exit(1)


@app.command()
def show(
    path: Annotated[Path, typer.Argument(metavar="RUN", help="Directory of the run.")],
    code: Annotated[bool, typer.Option("--code", help="Print the best heuristic only.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """What a run has found so far; also while it is running."""
    from coevo.summary import digest_of, overview

    summary = digest_of(path)
    if code:
        print(summary["best"]["code"] if summary["best"] else "", end="")
    elif as_json:
        print(json.dumps(summary))
    else:
        for line in overview(summary):
            Console().print(line, soft_wrap=True)


@app.command(name="eval")
def evaluate(
    heuristic: Annotated[Path, typer.Argument(metavar="HEURISTIC.py")],
    problem: Annotated[str, typer.Option(help="Problem that it solves.")] = "tsp",
    n: Annotated[int | None, typer.Option(help="Size of an instance.")] = None,
    split: Annotated[SplitName, typer.Option(help="Instances to use.")] = SplitName.test,
    count: Annotated[int | None, typer.Option(min=1, help="How many of them.")] = None,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds for 64 instances.")] = 20.0,
    unsafe_sandbox: Annotated[bool, typer.Option("--unsafe-sandbox")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Run a heuristic from a file, in the sandbox, and score it."""
    from coevo.summary import evaluated

    source = _read(heuristic)
    result = evaluated(source, problem, n, split.value, count, timeout, unsafe_sandbox)
    if as_json:
        print(json.dumps(result))
    elif result["stage"] == "scored":
        print(
            f"{result['objective']:.6f}  {result['problem']} n={result['n']} {split.value} "
            f"({result['instances']} instances), {result['gap']:+.2%} to "
            f"{result['baseline_name']} {result['baseline']:.6f}, {result['seconds']:.2f} s"
        )
    else:
        _complain(f"{heuristic} ends as {result['stage']}: {result['message']}")
    if result["stage"] != "scored":
        raise typer.Exit(1)


@app.command()
def doctor(as_json: JsonFlag = False) -> None:
    """Check this machine: which walls of the sandbox stand, cores, memory, models."""
    from coevo.sandbox.walls import walls

    found = walls()
    machine = _hardware()
    if as_json:
        print(json.dumps({"machine": machine, "walls": [vars(wall) for wall in found]}))
    else:
        console = Console()
        console.print(
            f"{machine['cores']} cores, {machine['memory_gib']} GiB, {machine['accelerator']}"
        )
        for wall in found:
            mark = Text("stands   ", "green") if wall.stands else Text("MISSING  ", "bold red")
            console.print(mark + Text(f"{wall.name}: {wall.detail}", "default"), soft_wrap=True)
            if not wall.stands:
                console.print(Text(f"         {wall.fix}", "yellow"))
    if not all(wall.stands for wall in found):
        raise typer.Exit(1)


@models_app.command("list")
def models_list(as_json: JsonFlag = False) -> None:
    """The models known by name."""
    from coevo.llm.models import pulled, registry

    rows = [
        {
            "name": name,
            "parameters": entry.parameters,
            "licence": entry.licence,
            "pulled": pulled(name),
            "description": entry.description,
        }
        for name, entry in registry().items()
    ]
    if as_json:
        print(json.dumps(rows))
        return
    for row in rows:
        here = "here" if row["pulled"] else ""
        print(f"{row['name']:<20}{here:<6}{row['description']} ({row['licence']})")


@models_app.command("pull")
def models_pull(name: Annotated[str, typer.Argument(metavar="NAME")]) -> None:
    """Fetch a model and make it ready."""
    from coevo.llm.models import locate
    from coevo.llm.progress_bar import ProgressBar

    with ProgressBar() as observer:
        path = locate(name, observer)
    print(path)


@models_app.command("path")
def models_path(name: Annotated[str, typer.Argument(metavar="NAME")]) -> None:
    """Print the directory of a model that is here already."""
    from coevo.llm.models import locate, pulled, registry

    if name in registry() and not pulled(name):
        raise CoevoError(f"{name} is not here yet; fetch it with: coevo models pull {name}")
    print(locate(name))


def _hardware() -> dict[str, Any]:
    from coevo.hardware import hardware

    return hardware()


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not UTF-8 text") from None
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None


def _interrupt(number: int, frame: object) -> None:
    raise Interrupted


def _complain(message: str) -> None:
    print(f"coevo: {' '.join(message.split())}", file=sys.stderr)


if __name__ == "__main__":
    main()
