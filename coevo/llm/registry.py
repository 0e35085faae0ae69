"""Backends by name. A new one is one file beside this and one line below."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from coevo.error import UsageError
from coevo.llm.base import LanguageModel

# name -> (module:function), the function taking the model's spec and the decode batch size
BACKENDS = {
    "transformers": "coevo.llm.registry:_transformers",
    "scripted": "coevo.llm.registry:_scripted",
}


def backend(name: str) -> Callable[[str, int], LanguageModel]:
    """The function that opens a model on that backend. Raises `UsageError`."""
    if name not in BACKENDS:
        raise UsageError(f"no backend is called {name!r}; choose one of: {', '.join(BACKENDS)}")
    module, _, attribute = BACKENDS[name].partition(":")
    function: Callable[[str, int], LanguageModel] = getattr(import_module(module), attribute)
    return function


def _transformers(spec: str, batch: int) -> LanguageModel:
    from coevo.llm.models import locate
    from coevo.llm.transformers import TransformersModel

    return TransformersModel(locate(spec), name=spec, batch=batch)


def _scripted(spec: str, batch: int) -> LanguageModel:
    from coevo.llm.scripted import ScriptedModel

    return ScriptedModel(Path(spec))
