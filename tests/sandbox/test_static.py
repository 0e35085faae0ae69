"""Static checks: what models write passes, what reaches for the machine does not."""

from __future__ import annotations

import ast

import pytest

from coevo.problems.registry import load
from coevo.sandbox.static import offence

FINE = [
    "import numpy as np",
    "from numpy.linalg import norm",
    "from scipy.spatial.distance import cdist",
    "import scipy.sparse.csgraph as csgraph",
    "from scipy.optimize import linear_sum_assignment",
    "from numba import njit, prange",
    "import networkx as nx",
    "from typing import List, Tuple, Optional",
    "from collections import defaultdict, deque",
    "from __future__ import annotations",
    "import sys\nbest = sys.maxsize",
    "from sys import maxsize",
    "import time\nstart = time.time()",
    "class Node:\n    def __init__(self, x):\n        self.x = x\n        self.load = 0\n",
    "class A(B):\n    def __init__(self):\n        super().__init__()\n",
    "x = truck.load + self.save",
    "value = getattr(node, 'weight', 0)",
    "if __name__ == '__main__':\n    print(f(1))",
    "name = f.__name__",
    "x = '{:.3f}'.format(y)",
    "print('done', file=None)",
    "d = {'__class__': 1}",
    "x = np.random.default_rng(0).random(3)",
    "lambda self: hasattr(self, 'cache')",
]
OFFENCES = {
    "import os": "import of os",
    "import numpy, os.path": "import of os.path",
    "from os import system": "import of os",
    "from . import secrets": "relative import",
    "import numpy.ctypeslib": "import of numpy.ctypeslib",
    "from numpy import ctypeslib": "numpy.ctypeslib",
    "from numpy import load": "numpy.load",
    "from numpy.lib.npyio import os": "import of numpy.lib",
    "from random import _os": "random._os",
    "import scipy.io": "import of scipy.io",
    "from scipy import io": "import of scipy.io",
    "from numba import cuda": "import of numba.cuda",
    "import sys\nsys.modules": "sys.modules",
    "from sys import modules": "sys.modules",
    "eval('1')": "use of eval",
    "e = eval": "use of eval",
    "open('x')": "use of open",
    "__import__('os')": "use of __import__",
    "__builtins__": "use of __builtins__",
    "__name__ = '__main__'": "use of __name__",
    "().__class__": "access to __class__",
    "f.__globals__": "access to __globals__",
    "x.f_back": "access to f_back",
    "np.load('x')": "np.load",
    "a.tofile('x')": "access to tofile",
    "a.ctypes.data": "access to ctypes",
    "getattr(x, name)": "getattr with a computed name",
    "getattr(x, '__class__')": "getattr of __class__",
    "setattr(np, 'a' + 'b', 1)": "setattr with a computed name",
    "'{0.__class__}'.format(x)": "format string",
    "f'{x.__class__}'": "access to __class__",
    "match x:\n    case int(): exit()": "use of exit",
}


@pytest.mark.parametrize("code", FINE)
def test_fine(code: str) -> None:
    assert offence(ast.parse(code)) == ""


@pytest.mark.parametrize("code", OFFENCES)
def test_offence(code: str) -> None:
    assert OFFENCES[code] in offence(ast.parse(code))


def test_the_line_is_named() -> None:
    assert offence(ast.parse("x = 1\nimport os")) == "import of os is not allowed (line 2)"


def test_baselines_are_fine() -> None:
    for code in load("tsp").baselines.values():
        assert offence(ast.parse(code)) == ""
