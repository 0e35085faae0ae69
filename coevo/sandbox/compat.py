"""Names that NumPy 2 removed and that models still write, served and counted.

Models learnt from code written for NumPy 1. ``np.float(x)`` or ``np.in1d(a, b)`` says clearly what
is meant, so it works, and how often it was needed is reported. A name that the running NumPy still
has is left alone and not counted.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from typing import Any

import numpy as np


def _in1d(
    ar1: Any, ar2: Any, assume_unique: bool = False, invert: bool = False, *, kind: Any = None
) -> Any:
    return np.isin(np.ravel(ar1), ar2, assume_unique=assume_unique, invert=invert, kind=kind)


def _msort(a: Any) -> Any:
    return np.sort(a, axis=0)


def _asscalar(a: Any) -> Any:
    return a.item()


def _trapz(y: Any, x: Any = None, dx: float = 1.0, axis: int = -1) -> Any:
    y = np.moveaxis(np.asarray(y), axis, -1)
    step = dx if x is None else np.diff(np.asarray(x), axis=-1)
    return (step * (y[..., 1:] + y[..., :-1]) / 2.0).sum(axis=-1)


# What each name means in NumPy 1. The order is part of the reply's format (see codec.py).
NAMES: dict[str, Any] = {
    "float": builtins.float,
    "int": builtins.int,
    "bool": builtins.bool,
    "object": builtins.object,
    "str": builtins.str,
    "complex": builtins.complex,
    "long": builtins.int,
    "float_": np.float64,
    "complex_": np.complex128,
    "cfloat": np.complex128,
    "longfloat": np.longdouble,
    "singlecomplex": np.complex64,
    "int0": np.intp,
    "uint0": np.uintp,
    "bool8": np.bool_,
    "string_": np.bytes_,
    "unicode_": np.str_,
    "Inf": math.inf,
    "Infinity": math.inf,
    "infty": math.inf,
    "PINF": math.inf,
    "NINF": -math.inf,
    "NaN": math.nan,
    "NAN": math.nan,
    "PZERO": 0.0,
    "NZERO": -0.0,
    "math": math,
    "in1d": _in1d,
    "product": np.prod,
    "cumproduct": np.cumprod,
    "alltrue": np.all,
    "sometrue": np.any,
    "round_": np.round,
    "row_stack": np.vstack,
    "msort": _msort,
    "asscalar": _asscalar,
    "asfarray": lambda a, dtype=np.float64: np.asarray(a, dtype=dtype),
    "trapz": getattr(np, "trapezoid", _trapz),
}


def install() -> dict[str, int]:
    """Serve the missing names from ``np``; return the counts of their uses, which go on growing.

    Changes the module ``numpy`` of this process: only for the zygote, once, before it forks.
    """
    counts = dict.fromkeys(NAMES, 0)
    original: Callable[[str], Any] = np.__getattr__

    def served(name: str) -> Any:
        if name in NAMES:
            counts[name] += 1
            return NAMES[name]
        return original(name)

    vars(np)["__getattr__"] = served
    return counts
