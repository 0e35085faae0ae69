"""What the sandbox costs: time per candidate and candidates per second, side by side.

    python bench/sandbox.py [--quick]

The candidate is trivial: nearest neighbour on one instance of ten nodes, some 50 µs of work, so
that all the rest is overhead. Against it stand what one might do instead: a fresh interpreter per
candidate, and a bare fork without any wall. Ends with one line of JSON:

    overhead_ms_median  wall-clock milliseconds per candidate, one at a time, beyond its own work
    candidates_per_s    with one worker per processor
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from coevo.attempt import Stage
from coevo.problems.registry import load
from coevo.sandbox.pool import SandboxPool
from coevo.sandbox.walls import environment

FRESH = "import numpy, numba, scipy.spatial"


def milliseconds(action: Callable[[], Any], times: int) -> list[float]:
    found = []
    for _ in range(times):
        start = time.perf_counter()
        action()
        found.append((time.perf_counter() - start) * 1000)
    return sorted(found)


def bare_fork() -> None:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


def fresh_interpreter() -> None:
    subprocess.run([sys.executable, "-c", FRESH], env=environment(), check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a quarter of the repetitions")
    times = 100 if parser.parse_args().quick else 400

    problem = load("tsp")
    instances = problem.instances("train", 10, 1, count=1)
    code = problem.baselines["nearest neighbour"]
    names: dict[str, Any] = {}
    exec(code, names)
    heuristic = names[problem.function]

    start = time.perf_counter()
    pool = SandboxPool(problem, instances)
    started = time.perf_counter() - start
    with pool:
        own = milliseconds(lambda: problem.rollout(heuristic, instances), times)
        assert pool.evaluate(code).stage is Stage.SCORED
        alone = milliseconds(lambda: pool.evaluate(code), times)
        start = time.perf_counter()
        stages = [verdict.stage for _, verdict in pool.map([code] * (3 * times))]
        rate = len(stages) / (time.perf_counter() - start)
        assert set(stages) == {Stage.SCORED}
    fork = milliseconds(bare_fork, times)
    fresh = milliseconds(fresh_interpreter, 5 if times == 100 else 20)

    overhead = statistics.median(alone) - statistics.median(own)
    processors = len(os.sched_getaffinity(0))
    print(f"{times} candidates one at a time, {3 * times} with {processors} workers")
    print(f"the zygote was ready after {started:.1f} s; load average {os.getloadavg()[0]:.1f}\n")
    print(f"{'':34}{'median':>9}{'p90':>9}   ms")
    rows = (
        ("the candidate's own work", own),
        ("in the sandbox", alone),
        ("bare fork of this process, no walls", fork),
        ("fresh interpreter, no walls", fresh),
    )
    for name, found in rows:
        print(f"{name:34}{statistics.median(found):9.2f}{found[int(0.9 * len(found))]:9.2f}")
    print(f"\n{rate:.0f} candidates/s with {processors} workers")
    print(
        json.dumps({"overhead_ms_median": round(overhead, 2), "candidates_per_s": round(rate, 1)})
    )


if __name__ == "__main__":
    main()
