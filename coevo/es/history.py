"""The history of a model's weights: a few hundred bytes a step rebuild them from the base model.

    {"format": "coevo-es-history", "version": 1, "noise_version": 1, "steps": [
      {"step": 0, "kind": "lowrank", "seeds": ["0123456789abcdef", …], "weights": [0.5, …],
       "alpha": 0.0005, "sigma": 0.001, "rank": 1, "skipped": "",
       "digest_before": "…", "digest_after": "…"}, …]}

Seeds are 16 hexadecimal digits, since many readers of JSON lose the last bits of such integers. A
digest is what `coevo.llm.base.EvolvableModel.digest` says; empty if it was not taken.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from coevo.es.directions import Kind, Update
from coevo.es.noise import NOISE_VERSION

FORMAT = "coevo-es-history"
VERSION = 1


class HistoryError(ValueError):
    """A history that cannot be read or does not lead to the weights that it says."""


@dataclass(frozen=True)
class Step:
    """One update, and the digests of the weights on both sides of it."""

    step: int  # 0, 1, …
    update: Update
    digest_before: str = ""
    digest_after: str = ""


@dataclass(frozen=True)
class History:
    """All updates since the base model, in order, step 0 first."""

    steps: tuple[Step, ...] = ()

    def __post_init__(self) -> None:
        for i, step in enumerate(self.steps):
            if step.step != i:
                raise HistoryError(f"steps must be 0, 1, … without a gap: found {step.step} at {i}")
        for before, after in zip(self.steps, self.steps[1:], strict=False):
            ends = before.digest_after, after.digest_before
            if all(ends) and ends[0] != ends[1]:
                raise HistoryError(
                    f"step {before.step} ends at digest {ends[0]}, step {after.step} starts at "
                    f"{ends[1]}: steps are missing or of another run"
                )

    def record(self, update: Update, digest_before: str = "", digest_after: str = "") -> History:
        """The history with one more update at its end."""
        step = Step(len(self.steps), update, digest_before, digest_after)
        return History((*self.steps, step))


def replay(
    history: History, apply: Callable[[Update], None], digest: Callable[[], str] | None = None
) -> None:
    """Apply every step that was not skipped, in order, to weights that are the base model's.

    With ``digest`` the weights are compared with each digest that the history holds; HistoryError
    at the first that differs.
    """

    def check(step: Step, expected: str, when: str) -> None:
        if digest is not None and expected and (found := digest()) != expected:
            raise HistoryError(
                f"{when} step {step.step} the weights have digest {found}, the history says "
                f"{expected}: another base model, or changed weights"
            )

    for step in history.steps:
        check(step, step.digest_before, "before")
        if not step.update.skipped:
            apply(step.update)
        check(step, step.digest_after, "after")


def dump(history: History) -> str:
    """The history as JSON, one step a line."""
    head = json.dumps({"format": FORMAT, "version": VERSION, "noise_version": NOISE_VERSION})
    lines = ",\n".join(json.dumps(to_json(step), allow_nan=False) for step in history.steps)
    return f'{head[:-1]}, "steps": [\n{lines}\n]}}\n'


def load(text: str) -> History:
    """Read what `dump` wrote. Anything missing, unknown or of the wrong type: HistoryError."""
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise HistoryError(f"not JSON: {error}") from error
    data = _object(data, "the history", ("format", "version", "noise_version", "steps"))
    for name, expected in (
        ("format", FORMAT),
        ("version", VERSION),
        ("noise_version", NOISE_VERSION),
    ):
        if data[name] != expected:
            raise HistoryError(f"{name} is {data[name]!r}, this version reads {expected!r} only")
    steps = _list(data["steps"], "steps")
    return History(tuple(from_json(step, f"steps[{i}]") for i, step in enumerate(steps)))


def to_json(step: Step) -> dict[str, Any]:
    """A step as plain JSON data."""
    update = step.update
    return {
        "step": step.step,
        "kind": update.kind,
        "seeds": [f"{seed:016x}" for seed in update.seeds],
        "weights": list(update.weights),
        "alpha": update.alpha,
        "sigma": update.sigma,
        "rank": update.rank,
        "skipped": update.skipped,
        "digest_before": step.digest_before,
        "digest_after": step.digest_after,
    }


def from_json(data: object, where: str = "a step") -> Step:
    """Read what `to_json` made; HistoryError says in one line what is wrong, and where."""
    data = _object(data, where, tuple(to_json(_EXAMPLE)))
    kind = _text(data["kind"], f"{where}.kind")
    if kind not in get_args(Kind):
        raise HistoryError(f"{where}.kind is {kind!r}, not one of {', '.join(get_args(Kind))}")
    seeds = _list(data["seeds"], f"{where}.seeds")
    weights = _list(data["weights"], f"{where}.weights")
    if len(seeds) != len(weights):
        raise HistoryError(f"{where} has {len(seeds)} seeds but {len(weights)} weights")
    update = Update(
        kind="full" if kind == "full" else "lowrank",
        seeds=tuple(_seed(seed, f"{where}.seeds[{i}]") for i, seed in enumerate(seeds)),
        weights=tuple(_number(w, f"{where}.weights[{i}]") for i, w in enumerate(weights)),
        alpha=_number(data["alpha"], f"{where}.alpha"),
        sigma=_number(data["sigma"], f"{where}.sigma"),
        rank=_integer(data["rank"], f"{where}.rank", 1),
        skipped=_text(data["skipped"], f"{where}.skipped"),
    )
    return Step(
        step=_integer(data["step"], f"{where}.step", 0),
        update=update,
        digest_before=_text(data["digest_before"], f"{where}.digest_before"),
        digest_after=_text(data["digest_after"], f"{where}.digest_after"),
    )


_EXAMPLE = Step(0, Update("full", (), (), 0.0, 0.0))


def _object(data: object, where: str, keys: Sequence[str]) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise HistoryError(f"{where} must be an object, got {type(data).__name__}")
    _none(set(keys) - set(data), f"{where} lacks")
    _none(set(data) - set(keys), f"{where} has unknown")
    return data


def _none(names: Iterable[str], what: str) -> None:
    if names := sorted(names):
        raise HistoryError(f"{what} {', '.join(names)}")


def _list(data: object, where: str) -> list[Any]:
    if not isinstance(data, list):
        raise HistoryError(f"{where} must be a list, got {type(data).__name__}")
    return data


def _text(data: object, where: str) -> str:
    if not isinstance(data, str):
        raise HistoryError(f"{where} must be a string, got {data!r}")
    return data


def _number(data: object, where: str) -> float:
    if isinstance(data, bool) or not isinstance(data, int | float) or not math.isfinite(data):
        raise HistoryError(f"{where} must be a finite number, got {data!r}")
    return float(data)


def _integer(data: object, where: str, low: int) -> int:
    if isinstance(data, bool) or not isinstance(data, int) or data < low:
        raise HistoryError(f"{where} must be an integer of at least {low}, got {data!r}")
    return data


def _seed(data: object, where: str) -> int:
    text = _text(data, where)
    if len(text) != 16 or not set(text) <= set("0123456789abcdef"):
        raise HistoryError(f"{where} must be 16 hexadecimal digits, got {data!r}")
    return int(text, 16)
