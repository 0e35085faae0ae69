"""What the zygote has ready before it forks: the libraries, and a compiler that is warm."""

from __future__ import annotations

import importlib.util
import os
import sys
import sysconfig
import warnings

# What heuristics use now and then. The rest of scipy, and networkx, would double the time of each
# fork (their shared libraries are hundreds of mappings); a candidate can still import them itself.
_MODULES = """
    numpy.fft numpy.linalg numpy.ma numpy.polynomial numpy.random
    scipy.linalg scipy.optimize scipy.sparse.csgraph scipy.spatial.distance scipy.special
    numba.typed
    abc array bisect cmath collections copy dataclasses decimal enum fractions functools heapq
    itertools math numbers operator queue random re statistics string textwrap time typing
"""
_LIBRARIES = ("numpy", "scipy", "numba", "llvmlite", "networkx")
_SYSTEM = ("/lib", "/lib32", "/lib64", "/usr/lib", "/usr/lib32", "/usr/lib64")


def preload() -> None:
    """Import the libraries and compile a first function, so that no candidate waits for either."""
    warnings.simplefilter("ignore")
    for name in _MODULES.split():
        importlib.import_module(name)
    _warm_compiler()
    _settle_numba()


def _warm_compiler() -> None:
    """Numba fills its tables of types and functions at the first compilation: 1 s, once."""
    import numba
    import numpy as np

    def nearest(row: np.ndarray, nodes: np.ndarray) -> int:
        best, shortest = -1, np.inf
        for node in nodes:
            length = np.sqrt(row[node] ** 2) + np.abs(row).mean()
            if length < shortest:
                best, shortest = node, length
        return best

    row, nodes = np.ones(4), np.arange(4)
    numba.njit(nearest)(row, nodes)
    np.linalg.norm(np.linalg.solve(np.eye(3) + 1, np.ones(3)))


def _settle_numba() -> None:
    """Fix numba's settings, and let ``cache=True`` mean nothing: compiled code has no place here.

    Its compiler would look at the environment again each time, which is about to be emptied.
    """
    from numba.core import config
    from numba.core.dispatcher import Dispatcher

    config.reload_config = lambda: None
    Dispatcher.enable_caching = lambda self: None  # type: ignore[method-assign]


def view() -> list[str]:
    """The directories that lazy imports and shared libraries may still need, and no more."""
    paths = [sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")]
    for name in _LIBRARIES:
        found = importlib.util.find_spec(name)
        if found is not None and found.origin is not None:
            paths.append(os.path.dirname(os.path.dirname(found.origin)))
    if sys.base_prefix not in ("/usr", "/"):
        paths.append(os.path.join(sys.base_prefix, "lib"))
    return [*paths, *_SYSTEM]
