"""Progress of a download survives what the downloader does to its directory."""

from __future__ import annotations

import os
import shutil
import time

import pytest

from coevo.llm.growth import watched
from coevo.llm.progress import Progress


def test_what_arrives_is_told(tmp_path):
    seen = []
    with watched(tmp_path, Progress("fetch", 10, 100), 50, seen.append):
        (tmp_path / "part").write_bytes(bytes(30))
        time.sleep(0.5)
    assert seen[0].done == 10
    assert seen[-1].done == 40


@pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning")
def test_directories_that_come_and_go_do_no_harm(tmp_path, monkeypatch):
    walk = os.walk

    def slow_walk(top):
        for step in walk(top):
            yield step
            shutil.rmtree(tmp_path / "unpack", ignore_errors=True)  # under the walker's feet

    monkeypatch.setattr(os, "walk", slow_walk)
    seen = []
    with watched(tmp_path, Progress("fetch", 0, 100), 100, seen.append):
        for i in range(4):
            (tmp_path / "unpack" / "deep").mkdir(parents=True, exist_ok=True)
            (tmp_path / "unpack" / "deep" / f"{i}").write_bytes(bytes(5))
            time.sleep(0.2)
    assert seen
