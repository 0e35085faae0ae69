"""Stopping rules by the name of the setting that asks for them. A new one is one line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from coevo.stop.attempts import MaxAttempts
from coevo.stop.base import StoppingRule
from coevo.stop.seconds import MaxSeconds
from coevo.stop.target import Target
from coevo.stop.tokens import MaxTokens

RULES: Mapping[str, Callable[..., StoppingRule]] = {
    "budget": MaxAttempts,
    "max_seconds": MaxSeconds,
    "max_tokens": MaxTokens,
    "target": Target,
}


def rules(limits: Mapping[str, float | None]) -> list[StoppingRule]:
    """The rules asked for: ``limits`` maps a name above to its value, or to None for no limit."""
    return [RULES[name](value) for name, value in limits.items() if value is not None]
