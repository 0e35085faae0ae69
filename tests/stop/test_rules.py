"""Stopping rules, alone and together."""

from __future__ import annotations

from dataclasses import replace

import pytest

from coevo.stop.attempts import MaxAttempts
from coevo.stop.base import Progress, first_reason
from coevo.stop.registry import RULES, rules
from coevo.stop.target import Target

START = Progress("min")


def test_nothing_stops_a_run_without_rules():
    assert first_reason(rules({name: None for name in RULES}), START) is None


@pytest.mark.parametrize(
    ("name", "limit", "before", "after"),
    [
        ("budget", 10, {"attempts": 9}, {"attempts": 10}),
        ("max_tokens", 500, {"tokens": 499}, {"tokens": 500}),
        ("max_seconds", 60, {"seconds": 59.9}, {"seconds": 60.0}),
        ("target", 6.5, {"incumbent": 6.51}, {"incumbent": 6.5}),
    ],
)
def test_each_rule_stops_at_its_limit(name, limit, before, after):
    (rule,) = rules({name: limit})
    assert rule(START) is None
    assert rule(replace(START, **before)) is None
    assert rule(replace(START, **after))


def test_the_first_rule_gives_the_reason():
    both = rules({"budget": 5, "max_tokens": 10})
    assert "attempts" in first_reason(both, replace(START, attempts=5, tokens=10))
    assert "tokens" in first_reason(both, replace(START, attempts=4, tokens=10))


def test_target_follows_the_sense():
    assert Target(40)(replace(START, sense="max", incumbent=40.5))
    assert not Target(40)(replace(START, sense="max", incumbent=39.5))


def test_attempts_left():
    assert MaxAttempts(10).left(replace(START, attempts=7)) == 3
