"""Threads that share the processors well with evaluators and other programs.

A parallel operation ends at a barrier. While it waits there GNU OpenMP, torch's own on Linux, spins
for milliseconds, on the very processor that the thread it waits for may need: with a busy neighbour
a decode step took three to five times as long, and its processor time trebled. Told to sleep
soon, it costs a few per cent at most on an idle machine.
"""

from __future__ import annotations

import os
import sys

_SPIN = "1000"  # loops before a waiting thread sleeps: a few microseconds


def sleep_at_barriers() -> None:
    """Have torch's threads sleep when they wait. Only before torch is first imported, else nothing.

    What the user has set (``OMP_WAIT_POLICY``, ``GOMP_SPINCOUNT``) stays.
    """
    if "torch" not in sys.modules and "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", _SPIN)
