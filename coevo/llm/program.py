"""Take one function and what it needs out of a module's source. Reads only, never runs."""

from __future__ import annotations

import ast
import re
import textwrap
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_MAX_CUTS = 200  # tries at dropping an incomplete tail

_Function = ast.FunctionDef
_METHOD = re.compile(r"(def \w+\(\s*)(?:self|cls)\b\s*,?\s*")  # what makes a function a method

# Modules that models use and forget to import.
_FORGOTTEN = {"np": "import numpy as np", "numpy": "import numpy"} | {
    name: f"import {name}"
    for name in ("math", "random", "heapq", "itertools", "functools", "collections")
}


@dataclass(frozen=True)
class Program:
    """A function with the imports, definitions and constants that it needs."""

    code: str
    quality: int  # 3: returns a value under its own name, 2: under another, 1 and 0: returns none


def program(source: str, function: str, template: str) -> Program | None:
    """The program of ``function`` in a piece of text that begins with Python; None without one.

    Lines from the first syntax error on are dropped if a function that returns something is left.
    Raises RecursionError or MemoryError for source that is nested too deeply.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about escape sequences in the model's strings
        tree, cut = _tree(source)
        if tree is None:
            return None
        node, alias = _function(tree, function, template)
        if node is None:
            return None
        returns = _returns_value(node)
        if cut and not returns:
            return None
        return Program(_program(tree, source, node, alias), 2 * returns + (not alias))


def _tree(source: str) -> tuple[ast.Module | None, bool]:
    """The syntax tree of the longest prefix of whole lines that is Python; whether lines fell off.

    A syntax error at line k is in every prefix that holds line k, so cutting there skips nothing.
    """
    lines = source.split("\n")
    for cuts in range(_MAX_CUTS):
        try:
            return ast.parse("\n".join(lines)), cuts > 0
        except SyntaxError as error:
            end = min(len(lines), error.lineno or len(lines)) - 1
            if end < 1:
                return None, True
            lines = lines[:end]
        except ValueError:  # an integer literal of thousands of digits
            return None, True
    return None, True


def _function(tree: ast.Module, function: str, template: str) -> tuple[_Function | None, str]:
    """The function asked for, and the line that gives it its name (empty if it has it)."""
    functions = [node for node in tree.body if isinstance(node, _Function)]
    named = [_innermost(node, tree) for node in functions if node.name == function]
    if named:
        return next(filter(_returns_value, reversed(named)), named[-1]), ""
    for holder in tree.body:
        if isinstance(holder, ast.ClassDef):
            for method in holder.body:
                if isinstance(method, _Function) and method.name == function:
                    return method, _out_of_class(method, holder, tree)
    if len(functions) > 1:
        names = _arguments(ast.parse(template).body[0])
        functions = [node for node in functions if _arguments(node) == names]
    if len(functions) == 1:
        return functions[0], f"{function} = {functions[0].name}"
    return None, ""


def _innermost(node: _Function, tree: ast.Module) -> _Function:
    """The model repeated the signature inside the body begun for it: the inner one is meant."""
    inner = [child for child in node.body if isinstance(child, _Function)]
    for child in inner:
        if child.name == node.name and not _returns_value(node):
            tree.body[tree.body.index(node)] = child
            return _innermost(child, tree)
    return node


def _out_of_class(node: _Function, holder: ast.ClassDef, tree: ast.Module) -> str:
    """Take a method out of its class if it never needs its object; else bind it to one."""
    marks = {mark.id for mark in node.decorator_list if isinstance(mark, ast.Name)}
    static = "staticmethod" in marks
    first = [arg.arg for arg in node.args.args[:1]]
    own = first[0] if first and not static and first[0] in ("self", "cls") else ""
    if {own, holder.name} & set(_names(node.body)):
        return f"{node.name} = {holder.name}{'' if static else '()'}.{node.name}"
    if static:
        node.decorator_list = []
    if own:
        node.args.args = node.args.args[1:]
    tree.body[tree.body.index(holder)] = node
    return ""


def _arguments(node: ast.AST) -> list[str]:
    return [arg.arg for arg in node.args.args] if isinstance(node, _Function) else []


def _returns_value(node: _Function) -> bool:
    """Whether the function itself, not one inside it, returns something."""
    todo: list[ast.AST] = [*node.body]
    while todo:
        child = todo.pop()
        if isinstance(child, ast.Return) and child.value is not None:
            return True
        if not isinstance(child, _Function | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            todo.extend(ast.iter_child_nodes(child))
    return False


def _program(tree: ast.Module, source: str, node: _Function, alias: str) -> str:
    """What the function needs of its module, in order, in the model's own lines.

    Only definitions, imports and plain assignments are ever kept: an example call, or a constant
    computed by one, is not.
    """
    own = {n.name for n in tree.body if isinstance(n, _Function | ast.ClassDef)}
    makers: dict[str, list[ast.stmt]] = {}
    for statement in tree.body:
        for name in _defines(statement):
            makers.setdefault(name, []).append(statement)
    makers[node.name] = [node]  # whatever other tries at it there are
    bound = set(makers)
    todo = {node.name, *_names([ast.parse(alias)])}
    kept: set[ast.stmt] = set(makers.get("*", ()))
    missing: set[str] = set()
    while todo:
        name = todo.pop()
        missing |= {name} - bound
        for statement in makers.pop(name, ()):
            used = _uses(statement)
            if not (isinstance(statement, ast.Assign | ast.AnnAssign) and used & own):
                kept.add(statement)
                todo |= used
    lines = source.split("\n")
    parts = [line for name, line in _FORGOTTEN.items() if name in missing]
    parts += [_text(s, lines) for s in tree.body if s in kept]
    return "\n\n".join(dict.fromkeys([*parts, alias] if alias else parts)) + "\n"


def _defines(statement: ast.stmt) -> set[str]:
    """The names that a top-level definition, import or assignment gives a value."""
    if isinstance(statement, _Function | ast.ClassDef):
        return {statement.name}
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return {(n.asname or n.name).split(".")[0] for n in statement.names}
    if isinstance(statement, ast.Assign | ast.AnnAssign):
        return {
            n.id
            for n in ast.walk(statement)
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
        }
    return set()


def _uses(statement: ast.stmt) -> set[str]:
    """The names that the statement may take from the module: all, less a function's parameters."""
    if not isinstance(statement, _Function):
        return set(_names([statement]))
    args = statement.args
    outside = [args, *statement.decorator_list, *filter(None, [statement.returns])]
    own = {arg.arg for arg in ast.walk(args) if isinstance(arg, ast.arg)}
    return set(_names(outside)) | (set(_names(statement.body)) - own)


def _names(nodes: Iterable[ast.AST]) -> Iterator[str]:
    return (n.id for node in nodes for n in ast.walk(node) if isinstance(n, ast.Name))


def _text(node: ast.stmt, lines: list[str]) -> str:
    """The statement's own lines, comments included, at the margin."""
    start = node.lineno
    if isinstance(node, _Function | ast.ClassDef):
        start = min([start, *(mark.lineno for mark in node.decorator_list)])
    text = textwrap.dedent("\n".join(lines[start - 1 : node.end_lineno]))
    for own in (text, _METHOD.sub(r"\1", text, count=1)):
        try:
            if ast.dump(ast.parse(own)) == ast.dump(ast.Module([node], [])):
                return own
        except SyntaxError:
            continue
    return ast.unparse(node)  # it shares its lines with another statement
