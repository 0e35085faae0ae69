"""What one candidate may use of the machine."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Limits of one candidate's process. How many bytes it may answer follows from the problem."""

    seconds: float = 20.0  # wall clock, from the fork to the end
    cpu_seconds: float | None = None  # processor time, rounded up to whole seconds; None: `seconds`
    memory_mb: int = 2048  # address space beyond what the sandbox itself has mapped, MiB
    output_bytes: int = 65_536  # captured stdout and stderr together; the rest is dropped
    code_bytes: int = 262_144  # longest program that is tried
    tmp_mb: int = 16  # size of the private temporary directory, and of a file in it, MiB

    def __post_init__(self) -> None:
        for name in ("seconds", "memory_mb", "output_bytes", "code_bytes", "tmp_mb"):
            if not getattr(self, name) > 0:
                raise ValueError(f"limits: {name} must be above 0, not {getattr(self, name)}")
        if self.cpu_seconds is not None and not self.cpu_seconds > 0:
            raise ValueError(f"limits: cpu_seconds must be above 0, not {self.cpu_seconds}")
        if self.output_bytes > 1_000_000:
            raise ValueError("limits: output_bytes can be at most 1000000, what a pipe may hold")

    @property
    def cpu_whole_seconds(self) -> int:
        """Processor time in whole seconds, at least 1, as the kernel counts it."""
        return max(1, math.ceil(self.seconds if self.cpu_seconds is None else self.cpu_seconds))
