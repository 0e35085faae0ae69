"""Recognise a program that was tried before under other names."""

from __future__ import annotations

import ast
import hashlib
import warnings
from collections.abc import Iterator


def fingerprint(code: str) -> str:
    """Hash (hex, 32 digits) that programs share if they differ only in form.

    Comments, layout, docstrings, annotations and the names of local variables and helpers do not
    count. Parameters of top-level functions do, since a problem may pass them by name. Equal
    fingerprints mean equal programs but for reflection (``locals()`` and the like). Text that is
    not Python is hashed as it stands.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about escape sequences in the model's strings
            tree = ast.parse(code)
        _strip(tree)
        _rename(tree)
        text = ast.dump(tree)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        text = code
    return hashlib.blake2b(text.encode(errors="replace"), digest_size=16).hexdigest()


def _strip(tree: ast.Module) -> None:
    """Drop what has no effect: docstrings, other bare constants, annotations of functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            node.annotation = None
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.returns = None
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module):
            node.body = [s for s in node.body if not _bare_constant(s)]


def _bare_constant(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _rename(tree: ast.Module) -> None:
    """Number the program's own names in order of appearance.

    A name that also occurs as any other string in the tree (attribute, keyword, import, ``global``,
    string literal, parameter of a top-level function) keeps its name, so that renaming is safe.
    """
    kept = set(_other_strings(tree))
    for top in tree.body:
        if isinstance(top, ast.FunctionDef):
            kept.update(a.arg for a in ast.walk(top.args) if isinstance(a, ast.arg))
    own = {name for node in ast.walk(tree) for name in _bound(node)} - kept
    order = (name for node in ast.walk(tree) for name in _mentioned(node) if name in own)
    numbered = {name: f"#{i}" for i, name in enumerate(dict.fromkeys(order))}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            node.id = numbered.get(node.id, node.id)
        elif isinstance(node, ast.arg):
            node.arg = numbered.get(node.arg, node.arg)
        elif isinstance(node, ast.FunctionDef):
            node.name = numbered.get(node.name, node.name)


def _bound(node: ast.AST) -> Iterator[str]:
    if not isinstance(node, ast.Name) or isinstance(node.ctx, ast.Store):
        yield from _mentioned(node)


def _mentioned(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.arg):
        yield node.arg
    elif isinstance(node, ast.FunctionDef):
        yield node.name


def _other_strings(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        for field, value in ast.iter_fields(node):
            if isinstance(node, ast.Name | ast.arg) or (
                isinstance(node, ast.FunctionDef) and field == "name"
            ):
                continue
            values = value if isinstance(value, list) else [value]
            yield from (v.split(".")[0] for v in values if isinstance(v, str))
