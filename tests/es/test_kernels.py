"""The compiled loops work where nothing can be written, and in several processes at once."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np

import coevo
from coevo.es.noise import gaussian

PRINT_NOISE = """
import sys
from coevo.es.noise import gaussian
sys.stdout.write(gaussian(1, "w", 5, 20).tobytes().hex())
"""


def start(environment: dict[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PRINT_NOISE],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        text=True,
    )


def test_without_a_place_for_a_cache(tmp_path: Path) -> None:
    package = tmp_path / "coevo"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(coevo.__file__).parent, package, ignore=ignored)
    (package / "es" / "__pycache__").touch()  # a file: stops even root from making the directory
    nowhere = str(tmp_path / "coevo" / "es" / "__pycache__" / "cache")
    environment = {"PYTHONPATH": str(tmp_path), "HOME": nowhere, "XDG_CACHE_HOME": nowhere}
    output, _ = start(environment).communicate(timeout=60)
    assert output == gaussian(1, "w", 5, 20).tobytes().hex()


def test_two_processes_fill_one_cache(tmp_path: Path) -> None:
    processes = [start({"NUMBA_CACHE_DIR": str(tmp_path)}) for _ in range(2)]
    expected = gaussian(1, "w", 5, 20).tobytes().hex()
    assert [p.communicate(timeout=60)[0] for p in processes] == [expected, expected]
    assert list(tmp_path.rglob("*gaussian_rows*.nbc"))


def test_an_empty_request() -> None:
    assert np.array_equal(gaussian(1, "w", 5, 0), np.empty(0, np.float32))
