"""How σ moves over a run: from its start to its end, with a warm-up before and a floor below.

The formula is that of Agentic ESOpt (arXiv 2608.17310), with exact end points.
"""

from __future__ import annotations

import math
from collections.abc import Callable

Schedule = Callable[[float], float]


def constant(progress: float) -> float:
    """All of the way is left, always: σ stays at its start."""
    return 1.0


def linear(progress: float) -> float:
    """The share of the way that is left, in equal steps."""
    return 1.0 - progress


def cosine(progress: float) -> float:
    """Slow at both ends: (1 + cos π·progress) / 2."""
    return (1.0 + math.cos(math.pi * progress)) / 2.0


SCHEDULES: dict[str, Schedule] = {"constant": constant, "linear": linear, "cosine": cosine}


def scheduled(
    schedule: str,
    step: int,
    total_steps: int,
    start: float,
    end: float,
    warmup_steps: int = 0,
    floor: float = 0.0,
) -> float:
    """The value at ``step`` (0, 1, …) of ``total_steps``, never below ``floor``.

    The first ``warmup_steps`` steps hold ``start``; the last step, and any after it, gives ``end``
    exactly. A run of a single step, and the schedule ``constant``, stay at ``start``.

    >>> [scheduled("linear", t, 5, 1.0, 0.0, warmup_steps=1) for t in range(5)]
    [1.0, 1.0, 0.6666666666666667, 0.33333333333333337, 0.0]
    """
    if schedule not in SCHEDULES:
        raise ValueError(f"unknown schedule {schedule!r}; choose one of {', '.join(SCHEDULES)}")
    if step < 0 or warmup_steps < 0:
        raise ValueError(f"step and warm-up must not be negative, got {step} and {warmup_steps}")
    last = total_steps - 1
    if last <= 0:
        value = start
    else:
        warmup = min(warmup_steps, last)
        progress = 1.0 if step >= last else max(0, step - warmup) / max(1, last - warmup)
        value = end + (start - end) * SCHEDULES[schedule](progress)
    return max(floor, value)
