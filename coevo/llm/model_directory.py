"""What makes a directory a Hugging Face model, and what identifies its weights."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from coevo.llm.model_error import ModelError

IDENTITY = "coevo.json"  # in directories that we made


def weight_files(path: Path) -> list[Path]:
    """The safetensors files that a model directory names, whether they are there or not."""
    index = path / "model.safetensors.index.json"
    if not index.is_file():
        return [path / "model.safetensors"]
    return [
        path / name for name in sorted(set(json.loads(index.read_text())["weight_map"].values()))
    ]


def is_complete(path: Path) -> bool:
    """Whether configuration, tokenizer and all weights are there."""
    parts = [path / "config.json", path / "tokenizer_config.json", *weight_files(path)]
    return all(part.is_file() for part in parts)


def check(path: Path) -> Path:
    """``path`` itself, if it is a usable model. Raises `ModelError` saying what is missing."""
    if not (path / "config.json").is_file():
        inside = [*path.glob("*.gguf")]
        hint = f"; for {inside[0].name}, give the file" if inside else ""
        raise ModelError(f"{path} has no config.json, so it is no Hugging Face model{hint}")
    if not (path / "tokenizer_config.json").is_file():
        raise ModelError(f"{path} has no tokenizer: save it there with tokenizer.save_pretrained")
    missing = [file.name for file in weight_files(path) if not file.is_file()]
    if missing:
        raise ModelError(
            f"{path} lacks {missing[0]}: fetch it again, or, if its weights are in another format, "
            "save the model with save_pretrained(..., safe_serialization=True)"
        )
    return path


def weights_sha256(path: Path) -> str:
    """sha256 (hex) of the weights: of the one file, or of the files' own digests in order."""
    digests = [_sha256(file) for file in weight_files(path)]
    return (
        digests[0] if len(digests) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest()
    )


def _sha256(file: Path) -> str:
    # In the hub's cache, large files are links to blobs that are named after their sha256.
    if file.is_symlink() and len(name := file.resolve().name) == 64:
        return name
    with open(file, "rb") as content:
        digest = hashlib.sha256()
        while chunk := content.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()
