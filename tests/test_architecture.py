"""The import arrows of docs/architecture.md, kept true; and a start that stays quick."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "coevo"

# what each part may import of ours, besides itself
FOUNDATION = {"attempt", "compiled", "error", "streams"}
ARROWS = {
    "attempt": set(),
    "compiled": set(),
    "error": set(),
    "streams": set(),
    "problems": {"compiled", "error", "streams"},
    "stop": {"problems"},
    "sandbox": FOUNDATION | {"problems"},
    "es": FOUNDATION,
    "search": FOUNDATION | {"problems"},
    "llm": FOUNDATION | {"es"},
    "store": {"attempt", "error"},
    "incumbent": {"attempt", "problems"},
    "judge": {"attempt", "error", "llm", "problems", "sandbox", "search"},
    "observer": {"attempt", "es", "llm", "stop"},
}


def part_of(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module] + [f"{node.module}.{alias.name}" for alias in node.names]
            found |= {names[1] if node.module == "coevo" else names[0]}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return {part_of(name) for name in found if name.split(".")[0] == "coevo"} - {""}


FILES = sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_arrows_point_down_only(path):
    relative = path.relative_to(PACKAGE)
    part = relative.parts[0].removesuffix(".py")
    if part in ARROWS:
        assert imports(path) - {part} <= ARROWS[part]
    else:  # the top: anything but the command line
        assert "cli" not in imports(path) or part == "__main__"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_files_stay_small(path):
    assert len(path.read_text().splitlines()) <= 400
    assert path.stem not in {"utils", "util", "helpers", "manager", "common", "misc"}


def modules_after(statement: str) -> set[str]:
    code = f"import sys; {statement}; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(ran.stdout.split())


def test_start_up_imports_nothing_heavy():
    heavy = {"torch", "transformers", "numba", "scipy", "numpy", "networkx", "deap"}
    assert not heavy & modules_after("import coevo, coevo.cli")


def test_nothing_below_the_model_imports_torch():
    loaded = modules_after("import coevo.problems.tsp, coevo.search.registry, coevo.es.strategy")
    assert "torch" not in loaded
    assert "transformers" not in loaded
