"""The same program gives the same answer, wherever it takes its randomness from."""

from __future__ import annotations

import pytest

from coevo.attempt import Stage
from coevo.sandbox.pool import SandboxPool

HEAD = "def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):\n"
SOURCES = {
    "random": "random.random()",
    "random reseeded": "(random.seed(), random.random())",
    "random object": "random.Random().random()",
    "system random": "random.SystemRandom().random()",
    "numpy": "np.random.rand()",
    "numpy reseeded": "(np.random.seed(), np.random.rand())",
    "numpy state": "np.random.RandomState().rand()",
    "numpy generator": "np.random.default_rng().random()",
    "numpy bit generator": "np.random.Generator(np.random.PCG64()).random()",
    "numba": "draw()",
    "string hashes": "list({'a', 'b', 'c', 'd', 'e'})",
}


@pytest.mark.parametrize("source", SOURCES)
def test_same_twice(pool: SandboxPool, source: str) -> None:
    code = (
        "import numba\n\n\n@numba.njit\ndef draw():\n    return np.random.random()\n\n\n"
        if source == "numba"
        else ""
    )
    code += f"print({SOURCES[source]})\n{HEAD}    return unvisited_nodes[0]\n"
    first, second = pool.evaluate(code), pool.evaluate(code)
    assert first.stage is Stage.SCORED, first.message
    assert first.output == second.output != ""


def test_seeds_still_matter(pool: SandboxPool) -> None:
    code = (
        "print(len({np.random.default_rng(s).random() for s in (None, 1, 2)}"
        " | {random.Random(s).random() for s in (None, 1, 2)}))\n"
        f"{HEAD}    return unvisited_nodes[0]\n"
    )
    assert pool.evaluate(code).output == "6\n"
