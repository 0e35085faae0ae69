"""RunConfig: every setting of a run, in one frozen object, TOML in and out.

Each part of coevo owns the settings that concern it; this file puts them together. A run's
``config.toml`` holds them resolved, so it can be given to ``coevo run --config`` again.
"""

from __future__ import annotations

import dataclasses
import sys
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import tomli_w

from coevo.error import UsageError
from coevo.es.strategy import ESSettings
from coevo.llm.base import Sampling
from coevo.sandbox.limits import Limits

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

T = TypeVar("T")


@dataclass(frozen=True)
class RunConfig:
    """A run's settings. None means: no limit, or the problem's own default."""

    seed: int  # of every random stream of the run
    problem: str = "tsp"  # name in the problem registry
    n: int | None = None  # size of an instance, in the problem's unit
    llm: str = "transformers"  # backend that writes
    model: str = "qwen2.5-coder-0.5b"  # registry name, Hugging Face id, directory or GGUF file
    batch: int = 32  # sequences decoded together
    search: str = "eoh"  # search method
    budget: int | None = 1000  # attempts, failures and initialisation included
    max_tokens: int | None = None  # written by the model
    max_seconds: float | None = None  # wall clock, over all sittings
    target: float | None = None  # stop when the train objective reaches it
    workers: int | None = None  # candidates run side by side; None: one per core
    unsafe_sandbox: bool = False  # run candidates although a wall is missing
    sampling: Sampling = field(default_factory=Sampling)
    search_settings: dict[str, Any] = field(default_factory=dict)  # of the method; see its class
    es: ESSettings = field(default_factory=ESSettings)
    limits: Limits = field(default_factory=Limits)

    def stopping(self) -> dict[str, float | None]:
        """The limits that stop a run, by the names of their rules (`coevo.stop.registry`)."""
        names = ("budget", "max_tokens", "max_seconds", "target")
        return {name: getattr(self, name) for name in names}

    def check(self) -> None:
        """Raise `UsageError` for a setting out of its range."""
        for name in ("budget", "max_tokens", "max_seconds"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise UsageError(f"--{name.replace('_', '-')} must be at least 1, got {value}")
        if all(limit is None for limit in self.stopping().values()):
            raise UsageError("nothing would end this run; give --budget, --max-seconds or --target")
        if not 1 <= self.batch <= 1024:
            raise UsageError(f"--batch must be 1 to 1024, got {self.batch}")
        if self.workers is not None and self.workers < 1:
            raise UsageError(f"--workers must be at least 1, got {self.workers}")
        if not 0 <= self.seed < 2**63:
            raise UsageError(f"--seed must be 0 to 2^63 - 1, got {self.seed}")

    def changed(self, given: Mapping[str, Any]) -> RunConfig:
        """With other values for some settings, tables merged; None leaves a setting as it is.
        Raises `UsageError` as `from_toml` does.
        """
        table = dataclasses.asdict(self)
        for name, value in given.items():
            if isinstance(value, Mapping):
                table[name] = {**table[name], **value}
            elif value is not None:
                table[name] = value
        return from_table(RunConfig, _without_none(table), "settings")

    def to_toml(self) -> str:
        return tomli_w.dumps(_without_none(dataclasses.asdict(self)))

    @classmethod
    def from_toml(cls, text: str, origin: str) -> RunConfig:
        """Read settings written by hand, or a run's ``config.toml``, whose account of the machine
        is passed over. Raises `UsageError` for what is unknown or of the wrong type, naming it.
        """
        try:
            table = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise UsageError(f"{origin} is not TOML: {error}") from None
        table.pop("machine", None)
        return from_table(cls, table, origin)


def from_table(kind: type[T], table: Mapping[str, Any], where: str) -> T:
    """Build a settings dataclass from a TOML table, strictly."""
    hints = typing.get_type_hints(kind)
    values: dict[str, Any] = {}
    for name, value in table.items():
        if name not in hints:
            known = ", ".join(hints)
            raise UsageError(f"{where}: no setting is called {name!r}; there are {known}")
        values[name] = _value(hints[name], value, f"{where}: {name}")
    required = [
        f.name
        for f in dataclasses.fields(kind)  # type: ignore[arg-type]
        if f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING
    ]
    if missing := [name for name in required if name not in values]:
        raise UsageError(f"{where}: {missing[0]} is missing")
    try:
        return kind(**values)
    except ValueError as error:
        raise UsageError(f"{where}: {error}") from None


def _value(hint: Any, value: Any, where: str) -> Any:
    if dataclasses.is_dataclass(hint):
        if not isinstance(value, dict):
            raise UsageError(f"{where} must be a table")
        return from_table(typing.cast(type, hint), value, where)
    if hint == dict[str, Any]:
        if not isinstance(value, dict):
            raise UsageError(f"{where} must be a table")
        return value
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        if value not in arguments:
            raise UsageError(f"{where} must be one of {', '.join(map(str, arguments))}")
        return value
    if origin is tuple:
        return tuple(value)
    allowed = [a for a in (arguments or (hint,)) if a is not type(None)]
    if float in allowed and type(value) is int:
        return float(value)
    if type(value) not in allowed:
        expected = " or ".join(a.__name__ for a in allowed)
        raise UsageError(f"{where} must be {expected}, got {value!r}")
    return value


def _without_none(table: dict[str, Any]) -> dict[str, Any]:
    """TOML has no null: a setting that is None is left out."""
    return {
        name: _without_none(value) if isinstance(value, dict) else value
        for name, value in table.items()
        if value is not None
    }
