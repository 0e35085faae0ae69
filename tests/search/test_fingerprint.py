from __future__ import annotations

import pytest

from coevo.search.fingerprint import fingerprint

ORIGINAL = '''
import numpy as np

def choose(current, nodes, matrix):
    """Choose."""
    # Idea: nearest
    best = None
    for node in nodes:
        if best is None or matrix[current, node] < matrix[current, best]:
            best = node
    return best
'''

SAME = """import numpy as np
def choose(current: int, nodes: np.ndarray, matrix) -> int:
    winner = None
    for candidate in nodes:  # all of them
        if (winner is None
            or matrix[current, candidate] < matrix[current, winner]): winner = candidate
    "a bare string"
    return winner
"""


def test_form_does_not_count() -> None:
    assert fingerprint(ORIGINAL) == fingerprint(SAME)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("<", "<="),
        ("best = None", "best = 0"),
        ("return best", "return nodes[0]"),
        ("matrix[current, best]", "matrix[best, current]"),
        ("(current, nodes, matrix)", "(nodes, current, matrix)"),  # may be passed by name
    ],
)
def test_meaning_counts(old: str, new: str) -> None:
    assert fingerprint(ORIGINAL) != fingerprint(ORIGINAL.replace(old, new))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        # Renaming must not confuse names that are also keywords, attributes, globals or strings.
        ("def h(x, y):\n return x\ndef f():\n return h(x=1, y=2)",
         "def h(y, x):\n return y\ndef f():\n return h(x=1, y=2)"),
        ("class A:\n x = 1\n y = 2\ndef f():\n return A.x",
         "class A:\n y = 1\n x = 2\ndef f():\n return A.x"),
        ("x = 0\ny = 1\ndef f():\n global x\n x = 2\n return y",
         "y = 0\nx = 1\ndef f():\n global x\n x = 2\n return x"),
        ("a = 1\nb = 2\ndef f():\n return globals()['a']",
         "b = 1\na = 2\ndef f():\n return globals()['a']"),
    ],
)  # fmt: skip
def test_renaming_is_safe(one: str, other: str) -> None:
    assert fingerprint(one) != fingerprint(other)


@pytest.mark.parametrize("text", ["def f(:", "", "x\0", "(" * 5000, "-" * 100_000 + "1"])
def test_any_text_has_one(text: str) -> None:
    assert fingerprint(text) == fingerprint(text)
    assert len(fingerprint(text)) == 32
