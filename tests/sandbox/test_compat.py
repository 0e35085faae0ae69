"""Old NumPy names work inside the sandbox, and are counted."""

from __future__ import annotations

import numpy as np
import pytest

from coevo.attempt import Stage
from coevo.sandbox.compat import NAMES, _trapz
from coevo.sandbox.pool import SandboxPool

HEAD = "def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):\n"
USES = {
    "float": "np.float(1) == 1.0",
    "int": "np.array([1.5]).astype(np.int)[0] == 1",
    "bool": "np.bool(1)",
    "object": "np.object is object",
    "float_": "np.float_ is np.float64",
    "Inf": "np.Inf == np.inf",
    "Infinity": "np.Infinity > 1",
    "NaN": "np.isnan(np.NaN)",
    "NINF": "np.NINF < 0",
    "infty": "np.infty == np.inf",
    "in1d": "np.in1d([[1, 2]], [2]).tolist() == [False, True]",
    "product": "np.product([2, 3]) == 6",
    "cumproduct": "np.cumproduct([2, 3])[1] == 6",
    "alltrue": "np.alltrue([True])",
    "sometrue": "np.sometrue([False, True])",
    "trapz": "np.trapz([1, 2, 3]) == 4.0",
    "row_stack": "np.row_stack(([1], [2])).shape == (2, 1)",
    "round_": "np.round_(1.26, 1) == 1.3",
    "msort": "np.msort([2, 1])[0] == 1",
    "asscalar": "np.asscalar(np.array([4])) == 4",
    "asfarray": "np.asfarray([1]).dtype == np.float64",
    "math": "np.math.sqrt(4) == 2",
}


@pytest.mark.parametrize("name", USES)
def test_old_name(pool: SandboxPool, name: str) -> None:
    verdict = pool.evaluate(f"assert {USES[name]}\n{HEAD}    return unvisited_nodes[0]\n")
    assert verdict.stage is Stage.SCORED, verdict.message
    native = name in vars(np)
    assert verdict.counted == ({} if native else {name: 1})


def test_imported_old_names_work_too(pool: SandboxPool) -> None:
    code = f"from numpy import sometrue\n{HEAD}    return unvisited_nodes[np.int(0)]\n"
    verdict = pool.evaluate(code)
    assert verdict.stage is Stage.SCORED
    assert verdict.counted["sometrue"] >= 1  # Python looks twice at a name that it imports
    assert verdict.counted["int"] == 16  # a use each time: two instances, eight choices


def test_other_missing_names_stay_missing(pool: SandboxPool) -> None:
    verdict = pool.evaluate(f"{HEAD}    return np.no_such_name(1)\n")
    assert verdict.stage is Stage.RUNTIME
    assert "no_such_name" in verdict.message
    assert verdict.counted == {}


def test_this_process_is_untouched(pool: SandboxPool) -> None:
    assert not hasattr(np, "float")


def test_trapezoids() -> None:
    x, y = np.array([0.0, 1.0, 3.0]), np.array([[1.0, 2.0, 4.0]])
    assert _trapz(y, x).tolist() == [7.5]
    assert NAMES["NINF"] == -np.inf
