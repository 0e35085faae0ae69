"""Where the weights of a model are on this machine."""

from __future__ import annotations

import os
from pathlib import Path

from coevo.llm.model_error import ModelError


def home() -> Path:
    """Where models are kept: ``$COEVO_HOME``, else ``$XDG_CACHE_HOME/coevo``."""
    if own := os.environ.get("COEVO_HOME"):
        return Path(own).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "coevo"


def locate(spec: str) -> Path:
    """The Hugging Face directory of a model that is here already. Raises `ModelError`."""
    for path in (home() / "models" / spec, Path(spec)):
        if (path / "config.json").is_file():
            return path
    raise ModelError(f"no model {spec!r} here")
