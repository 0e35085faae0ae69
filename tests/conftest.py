"""What several test files share: a scripted run that takes a second."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

REPLIES = Path(__file__).parent / "data" / "replies.jsonl"


class CommandLine:
    """``coevo …`` as a user types it, in a directory of its own."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def command(self, *arguments: object) -> list[str]:
        return [sys.executable, "-m", "coevo.cli", *map(str, arguments)]

    def __call__(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*arguments),
            cwd=self.directory,
            capture_output=True,
            text=True,
            timeout=120,
            stdin=subprocess.DEVNULL,
        )

    def start(self, *arguments: object) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.command(*arguments),
            cwd=self.directory,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            stdin=subprocess.DEVNULL,
        )

    def scripted(self, *arguments: object) -> list[object]:
        """Arguments of a scripted run."""
        return ["run", "--llm", "scripted", "--model", REPLIES, "--seed", 1, "--n", 20, *arguments]

    def runs(self) -> list[Path]:
        return sorted((self.directory / "runs").iterdir())


@pytest.fixture
def coevo(tmp_path, monkeypatch):
    root = str(Path(__file__).parent.parent)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([root, os.environ.get("PYTHONPATH", "")]))
    return CommandLine(tmp_path)
