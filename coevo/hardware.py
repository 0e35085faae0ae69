"""What machine this is, for the record of a run."""

from __future__ import annotations

import os
import platform
from pathlib import Path


def hardware() -> dict[str, str | int | float]:
    """Cores that this process may use, memory, processor and accelerator. Imports no torch."""
    return {
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "processor": _processor(),
        "accelerator": _accelerator(),
        "system": f"{platform.system()} {platform.release()}",
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    return next((x.partition(":")[2].strip() for x in lines if x.startswith("model name")), "?")


def _accelerator() -> str:
    gpus = sorted(Path("/proc/driver/nvidia/gpus").glob("*")) if Path("/proc").exists() else []
    return f"{len(gpus)} NVIDIA GPU" if gpus else "no GPU"
