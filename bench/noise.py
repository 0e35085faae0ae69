"""Our noise against `torch.randn`: Gaussian float32 elements per second on the CPU, in one run.

    python bench/noise.py [--quick] [--threads 2]

Both fill memory that is allocated before (`torch.randn` by its ``out``), on as many threads. Rounds
take the better of two calls of each, in turns, and the ratio is the median over rounds, so that
other work on the machine slows both. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable

import numba
import numpy as np
import torch

from coevo.es.noise import gaussian, gaussian_reference

NAME = "model.layers.0.mlp.up_proj.weight"


def rate(fill: Callable[[], object], count: int) -> float:
    """Elements per second, in the better of two calls that each make ``count``."""
    seconds = []
    for _ in range(2):
        start = time.perf_counter()
        fill()
        seconds.append(time.perf_counter() - start)
    return count / min(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer and smaller rounds")
    parser.add_argument("--threads", type=int, default=min(2, numba.config.NUMBA_NUM_THREADS))
    options = parser.parse_args()
    count, rounds = (1 << 24, 5) if options.quick else (1 << 26, 9)
    numba.set_num_threads(options.threads)
    torch.set_num_threads(options.threads)

    out, tensor = np.empty(count, np.float32), torch.empty(count)
    gaussian(1, NAME, 0, count, out)  # compiles, and brings the memory in
    torch.randn(count, out=tensor)
    tail = gaussian_reference(1, NAME, count - 10_000, 10_000)
    if not np.array_equal(out[-10_000:], tail):
        raise SystemExit("the compiled noise differs from the oracle: a rate would mean nothing")

    ours, theirs = [], []
    print(f"{'round':>5} {'ours M/s':>10} {'torch M/s':>10} {'ratio':>6}")
    for i in range(rounds):
        ours.append(rate(lambda i=i: gaussian(i, NAME, 0, count, out), count))
        theirs.append(rate(lambda: torch.randn(count, out=tensor), count))
        ratio = ours[-1] / theirs[-1]
        print(f"{i:>5} {ours[-1] / 1e6:>10.0f} {theirs[-1] / 1e6:>10.0f} {ratio:>6.2f}")
    print(
        json.dumps(
            {
                "ratio_to_torch_randn": round(
                    statistics.median(a / b for a, b in zip(ours, theirs, strict=True)), 2
                ),
                "elements_per_s": round(statistics.median(ours)),
                "elements_per_s_torch_randn": round(statistics.median(theirs)),
                "elements": count,
                "rounds": rounds,
                "threads": options.threads,
                "torch": torch.__version__,
            }
        )
    )


if __name__ == "__main__":
    main()
