"""Backends by name. A new one is one file beside this and one line below."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from coevo.error import UsageError
from coevo.llm.base import LanguageModel


def _transformers(spec: str, batch: int) -> LanguageModel:
    from coevo.llm.models import identity, locate
    from coevo.llm.progress_bar import ProgressBar
    from coevo.llm.transformers import TransformersModel

    with ProgressBar() as observer:
        path = locate(spec, observer)
    return TransformersModel(path, name=f"{spec} ({identity(path)['source']})", batch=batch)


def _scripted(spec: str, batch: int) -> LanguageModel:
    from coevo.llm.scripted import ScriptedModel

    return ScriptedModel(Path(spec))


# each takes the model's spec, as the user gave it, and the size of the decode batch
BACKENDS: dict[str, Callable[[str, int], LanguageModel]] = {
    "transformers": _transformers,
    "scripted": _scripted,
}


def backend(name: str) -> Callable[[str, int], LanguageModel]:
    """The function that opens a model on that backend. Raises `UsageError`."""
    if name not in BACKENDS:
        raise UsageError(f"no backend is called {name!r}; choose one of: {', '.join(BACKENDS)}")
    return BACKENDS[name]
