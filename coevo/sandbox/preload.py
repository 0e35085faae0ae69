"""What the zygote has ready before it forks: the libraries, their lazy parts, a warm compiler."""

from __future__ import annotations

import importlib
import os
import sys
import sysconfig
import warnings

from coevo.sandbox import determinism

_MODULES = """
    numpy.fft numpy.linalg numpy.ma numpy.polynomial numpy.random 
    scipy.cluster.hierarchy scipy.cluster.vq scipy.fft scipy.integrate scipy.interpolate 
    scipy.linalg scipy.ndimage scipy.optimize scipy.sparse scipy.sparse.csgraph 
    scipy.sparse.linalg scipy.spatial scipy.spatial.distance scipy.special scipy.stats 
    numba.typed networkx 
    array bisect cmath collections copy dataclasses decimal enum fractions functools heapq 
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
    determinism.warm()
    _forget_numba_cache()


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


def _forget_numba_cache() -> None:
    """Let ``cache=True`` mean nothing: there is nowhere to keep a compiled function."""
    from numba.core.dispatcher import Dispatcher

    Dispatcher.enable_caching = lambda self: None  # type: ignore[method-assign]


def view() -> list[str]:
    """The directories that lazy imports and shared libraries may still need, and no more."""
    paths = [sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")]
    for name in _LIBRARIES:
        file = sys.modules[name].__file__
        assert file is not None
        paths.append(os.path.dirname(os.path.dirname(file)))
    if sys.base_prefix not in ("/usr", "/"):
        paths.append(os.path.join(sys.base_prefix, "lib"))
    return [*paths, *_SYSTEM]
