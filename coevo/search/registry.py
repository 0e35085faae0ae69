"""Search methods by name. A new one is one file beside this and one line below."""

from __future__ import annotations

import dataclasses
from types import MappingProxyType
from typing import Any

from coevo.problems.base import Problem
from coevo.search.base import Search
from coevo.search.eoh import EoH, EoHSettings
from coevo.search.sampling import Sampling, SamplingSettings

METHODS: MappingProxyType[str, tuple[Any, Any]] = MappingProxyType(
    {
        "eoh": (EoH, EoHSettings),
        "sampling": (Sampling, SamplingSettings),
    }
)


def make(name: str, problem: Problem, seed: int, continues: bool = True, **settings: Any) -> Search:
    """A fresh search method. ``continues``: the model can continue a reply begun for it.

    ``settings`` are fields of the method's settings class (lists, as TOML has them, are taken for
    tuples). Raises ValueError for an unknown method or setting, naming those there are.
    """
    if name not in METHODS:
        choices = ", ".join(METHODS)
        raise ValueError(f"no search method is called {name!r}; choose one of: {choices}")
    method, settings_type = METHODS[name]
    known = [field.name for field in dataclasses.fields(settings_type)]
    for setting in settings:
        if setting not in known:
            raise ValueError(f"{name} has no setting {setting!r}; it has: {', '.join(known)}")
    values = {key: tuple(v) if isinstance(v, list) else v for key, v in settings.items()}
    search: Search = method(
        problem, seed=seed, continues=continues, settings=settings_type(**values)
    )
    return search
