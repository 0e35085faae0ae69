"""Begin a reply with part of the parent, so that the model can only go on, not start again."""

from __future__ import annotations

import ast
import math
import warnings

import numpy as np

_DEEPEST = 100  # levels of a tree; unparsing takes several stack frames for each
_Function = ast.FunctionDef


def condensed(code: str, function: str) -> str:
    """The code as a prompt shows it: no comments, docstrings or imports of ``function``'s module.

    Text that is not Python comes back as it is.
    """
    tree = _tree(code)
    if tree is None:
        return code
    tree.body = [s for s in tree.body if not isinstance(s, ast.Import | ast.ImportFrom)]
    for node in ast.walk(tree):
        if isinstance(node, _Function) and len(node.body) > 1 and ast.get_docstring(node, False):
            node.body = node.body[1:]
        if isinstance(node, _Function) and node.name == function:
            node.returns = None
            for arg in node.args.args:
                arg.annotation = None
    return ast.unparse(tree)


def first_statements(code: str, function: str, rng: np.random.Generator) -> str:
    """The function's body, cut at random after one statement or more but before the last.

    Lines indented by four spaces, a newline at the end; empty if there is nothing to cut.
    """
    body = _body(code, function)
    if len(body) < 2:
        return ""
    kept = body[: int(rng.integers(1, len(body)))]
    return "".join(_indented(ast.unparse(statement)) + "\n" for statement in kept)


def up_to_changed_number(code: str, function: str, rng: np.random.Generator) -> str:
    """The function's body up to one of its numbers, and that number changed.

    The number, a float literal drawn at random, is multiplied by a log-normal factor (sd 0.7). The
    text ends right after it; empty if there is no such number.
    """
    lines = body_lines(code, function)
    numbers = _numbers(lines)
    if not numbers:
        return ""
    row, start, value = numbers[int(rng.integers(len(numbers)))]
    changed = float(f"{value * math.exp(0.7 * rng.standard_normal()):.2g}")
    line = lines[row].encode()[:start].decode()
    return "\n".join([*lines[:row], line + repr(changed)])


def body_lines(code: str, function: str) -> list[str]:
    """The function's body as lines, without comments, indented by four spaces."""
    return "\n".join(_indented(ast.unparse(s)) for s in _body(code, function)).split("\n")


def _numbers(lines: list[str]) -> list[tuple[int, int, float]]:
    """Parameters in a function's body: (index of the line, byte in the line, value), in order."""
    tree = _tree("def f():\n" + "\n".join(lines))
    return sorted(
        (node.lineno - 2, node.col_offset, node.value)
        for node in ([] if tree is None else ast.walk(tree))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, float)
        and 1e-6 < node.value < 1e6  # a parameter, not a placeholder such as 0.0 or 1e9
    )


def _tree(code: str) -> ast.Module | None:
    """The program, or None if it is not Python or too deep to be written out again."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about escape sequences in the model's strings
            tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    level: list[ast.AST] = [tree]
    for _ in range(_DEEPEST):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return tree
    return None


def _body(code: str, function: str) -> list[ast.stmt]:
    """The function's statements without its docstring; empty if helpers or classes are needed."""
    tree = _tree(code)
    definitions = [] if tree is None else [s for s in tree.body if not _is_import(s)]
    if len(definitions) != 1:
        return []
    node = definitions[0]
    if not isinstance(node, _Function) or node.name != function:
        return []
    return node.body[1:] if ast.get_docstring(node, False) else node.body


def _is_import(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Import | ast.ImportFrom)


def _indented(text: str) -> str:
    return "\n".join("    " + line if line else line for line in text.split("\n"))
