"""The probes find every wall on this machine, and say so of each."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from coevo.sandbox import confinement, seccomp
from coevo.sandbox.limits import Limits
from coevo.sandbox.namespaces import outermost
from coevo.sandbox.walls import _wall, environment, walls


def test_every_wall_is_probed() -> None:
    found = walls()
    assert tuple(wall.name for wall in found) == confinement.WALLS
    for wall in found:
        assert wall.detail
        assert "\n" not in wall.detail + wall.fix
        assert bool(wall.fix) != wall.stands


def test_a_failed_probe_names_the_fix() -> None:
    wall = _wall(confinement.NAMESPACES, "unshare: Operation not permitted")
    assert not wall.stands
    assert wall.detail == "unshare: Operation not permitted"
    assert "user.max_user_namespaces" in wall.fix


def test_the_environment_holds_nothing_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    assert "secret" not in str(environment())
    assert "HOME" not in environment()


def test_the_filter_is_a_valid_program() -> None:
    program = seccomp.program(1)
    assert len(program) % 8 == 0
    lines = [program[i : i + 8] for i in range(0, len(program), 8)]
    assert len(lines) < 4096
    for position, line in enumerate(lines):  # no jump leaves the program
        if line[0] in (0x15, 0x35):
            assert position + 1 + max(line[2], line[3]) < len(lines)
    assert lines[-1][0] == 0x06


def test_outermost_directories(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "a")
    inner, outer = str(tmp_path / "a" / "b"), str(tmp_path / "a")
    assert outermost([inner, outer, str(tmp_path / "none"), "/"]) == [outer]
    assert outermost([str(tmp_path / "link")]) == [outer]
    assert outermost([inner, inner + os.sep]) == [inner]


@pytest.mark.parametrize(
    "wrong", [{"seconds": 0}, {"memory_mb": -1}, {"cpu_seconds": 0.0}, {"output_bytes": 2**21}]
)
def test_limits_are_checked(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Limits(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(("seconds", "cpu", "whole"), [(0.3, None, 1), (20, None, 20), (5, 1.2, 2)])
def test_processor_time_comes_in_whole_seconds(
    seconds: float, cpu: float | None, whole: int
) -> None:
    assert Limits(seconds=seconds, cpu_seconds=cpu).cpu_whole_seconds == whole
