"""Settings: defaults, TOML in and out, changes."""

from __future__ import annotations

import pytest

from coevo.config import RunConfig
from coevo.error import UsageError


def test_defaults_are_the_main_job():
    config = RunConfig(seed=3)
    config.check()
    assert (config.problem, config.budget, config.search) == ("tsp", 1000, "eoh")
    assert config.model == "qwen2.5-coder-0.5b"


def test_toml_round_trip():
    config = RunConfig(seed=2**40, n=20, budget=None, max_seconds=90, target=6.5)
    config = config.changed({"es": {"kind": "full"}, "search_settings": {"population": 7}})
    assert RunConfig.from_toml(config.to_toml(), "c.toml") == config


def test_changes_merge_tables_and_leave_none_alone():
    config = RunConfig(seed=1).changed({"n": None, "budget": 5, "limits": {"seconds": 3}})
    assert (config.n, config.budget, config.limits.seconds) == (None, 5, 3.0)
    assert config.limits.memory_mb == RunConfig(seed=1).limits.memory_mb


@pytest.mark.parametrize(
    "given", [{"colour": 1}, {"budget": "many"}, {"es": {"sigma": -1.0}}, {"batch": 1.5}]
)
def test_changes_are_checked(given):
    with pytest.raises(UsageError, match="settings"):
        RunConfig(seed=1).changed(given)


def test_a_run_must_end():
    with pytest.raises(UsageError, match="nothing would end"):
        RunConfig(seed=1, budget=None).check()
