"""The history of a model's weights: a few hundred bytes a step rebuild them from the base model.

    {"format": "coevo-es-history", "version": 1, "model": "…", "updates": [
      {"noise_version": 1, "kind": "lowrank", "seeds": ["0123456789abcdef", …], "weights": [0.5, …],
       "alpha": 0.0005, "sigma": 0.001, "rank": 1, "skipped": "",
       "digest_before": "…", "digest_after": "…"}, …]}

One record per step, in order. Seeds are 16 hexadecimal digits, since many readers of JSON lose the
last bits of such integers. A digest is what `EvolvableModel.digest` says, or empty.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, get_args

from coevo.es.directions import Kind, Update
from coevo.es.noise import NOISE_VERSION

FORMAT = "coevo-es-history"
VERSION = 1


class HistoryError(ValueError):
    """A history that cannot be read, or does not lead to the weights that it says."""


@dataclass(frozen=True)
class Step:
    """One update, and the digests of the weights on both sides of it."""

    update: Update
    digest_before: str = ""
    digest_after: str = ""


def update_record(
    update: Update, digest_before: str = "", digest_after: str = ""
) -> dict[str, Any]:
    """An update as plain JSON data."""
    return {
        "noise_version": NOISE_VERSION,
        "kind": update.kind,
        "seeds": [f"{seed:016x}" for seed in update.seeds],
        "weights": list(update.weights),
        "alpha": update.alpha,
        "sigma": update.sigma,
        "rank": update.rank,
        "skipped": update.skipped,
        "digest_before": digest_before,
        "digest_after": digest_after,
    }


def read_records(records: Sequence[Mapping[str, Any]]) -> list[Step]:
    """What `update_record` made, checked: each step must start where the one before it ended.

    Anything missing, unknown or of the wrong type raises HistoryError, in one line.
    """
    steps = [_step(record, f"update {i}") for i, record in enumerate(records)]
    for i, (step, following) in enumerate(pairwise(steps)):
        end, start = step.digest_after, following.digest_before
        if end and start and end != start:
            raise HistoryError(
                f"update {i} ends at digest {end}, update {i + 1} starts at {start}: "
                "updates are missing, or of another run"
            )
    return steps


def replay(
    records: Sequence[Mapping[str, Any]],
    apply: Callable[[Update], None],
    digest: Callable[[], str] | None = None,
) -> None:
    """Apply every update that was not skipped, in order, to weights that are the base model's.

    With ``digest`` the weights are compared with every digest on record; HistoryError at the first
    that differs.
    """
    known = ""  # the digest that the weights are known to have

    def check(expected: str, when: str) -> None:
        nonlocal known
        if digest is None or not expected or expected == known:
            return
        known = digest()
        if known != expected:
            raise HistoryError(
                f"{when} the weights have digest {known}, the history says {expected}: "
                "another base model, or changed weights"
            )

    for i, step in enumerate(read_records(records)):
        check(step.digest_before, f"before update {i}")
        if not step.update.skipped:
            apply(step.update)
            known = ""
        check(step.digest_after, f"after update {i}")


def dump(records: Sequence[Mapping[str, Any]], model: str = "") -> str:
    """The history as JSON, one update a line."""
    head = json.dumps({"format": FORMAT, "version": VERSION, "model": model})
    lines = ",\n".join(json.dumps(record, allow_nan=False) for record in records)
    return f'{head[:-1]}, "updates": [\n{lines}\n]}}\n'


def load(text: str) -> list[dict[str, Any]]:
    """The records of what `dump` wrote, checked as by `read_records`."""
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise HistoryError(f"the history is not JSON: {error}") from error
    data = _object(data, "the history", ("format", "version", "model", "updates"))
    for name, expected in (("format", FORMAT), ("version", VERSION)):
        if data[name] != expected:
            raise HistoryError(f"{name} is {data[name]!r}, this version reads {expected!r} only")
    updates = _list(data["updates"], "updates")
    read_records(updates)
    return updates


def _step(record: object, where: str) -> Step:
    data = _object(record, where, _KEYS)
    if data["noise_version"] != NOISE_VERSION:
        raise HistoryError(
            f"{where} has noise version {data['noise_version']!r}, "
            f"this version makes {NOISE_VERSION} only"
        )
    kind = data["kind"]
    if kind not in get_args(Kind):
        raise HistoryError(f"{where}: kind is {kind!r}, not one of {', '.join(get_args(Kind))}")
    seeds = _list(data["seeds"], f"{where}: seeds")
    weights = _list(data["weights"], f"{where}: weights")
    if len(seeds) != len(weights):
        raise HistoryError(f"{where} has {len(seeds)} seeds but {len(weights)} weights")
    rank = data["rank"]
    if type(rank) is not int or rank < 1:
        raise HistoryError(f"{where}: rank must be an integer of at least 1, got {rank!r}")
    update = Update(
        kind=kind,
        seeds=tuple(_seed(seed, f"{where}: seed {i}") for i, seed in enumerate(seeds)),
        weights=tuple(_number(w, f"{where}: weight {i}") for i, w in enumerate(weights)),
        alpha=_number(data["alpha"], f"{where}: alpha"),
        sigma=_number(data["sigma"], f"{where}: sigma"),
        rank=rank,
        skipped=_text(data["skipped"], f"{where}: skipped"),
    )
    before, after = data["digest_before"], data["digest_after"]
    return Step(
        update,
        _text(before, f"{where}: digest_before"),
        _text(after, f"{where}: digest_after"),
    )


_KEYS = tuple(update_record(Update("full", (), (), 0.0, 0.0)))


def _object(data: object, where: str, keys: Sequence[str]) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise HistoryError(f"{where} must be an object, got {type(data).__name__}")
    if missing := [key for key in keys if key not in data]:
        raise HistoryError(f"{where} lacks {', '.join(missing)}")
    if unknown := [key for key in data if key not in keys]:
        raise HistoryError(f"{where} has unknown {', '.join(map(str, unknown))}")
    return data


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


def _seed(data: object, where: str) -> int:
    text = _text(data, where)
    if len(text) != 16 or not set(text) <= set("0123456789abcdef"):
        raise HistoryError(f"{where} must be 16 hexadecimal digits, got {data!r}")
    return int(text, 16)
