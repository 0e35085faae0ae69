"""Static checks: a quick, clear ``unsafe`` for code that asks for what a heuristic never needs.

They are a courtesy to the search, not a wall: they name the offence in a millisecond where the
walls would only show a strange failure. The walls hold without them. They run inside the sandbox,
since Python's parser, too, is exposed to the code.
"""

from __future__ import annotations

import ast


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


IMPORTS = _words(
    "__future__ abc array bisect cmath collections copy dataclasses decimal enum fractions "
    "functools heapq itertools math networkx numba numbers numpy operator queue random re scipy "
    "statistics string sys textwrap time typing typing_extensions warnings"
)
_SYS = _words("maxsize float_info int_info version_info version byteorder")
_SYS |= frozenset(("setrecursionlimit", "getrecursionlimit", "getsizeof"))
_CALLS = _words(
    "eval exec compile open __import__ input breakpoint globals locals vars dir help exit quit "
    "delattr memoryview"
)
_ATTRIBUTE_CALLS = frozenset(("getattr", "setattr", "hasattr"))
_DUNDER_NAMES = frozenset(("__name__", "__doc__"))
_DUNDER_ATTRIBUTES = _words(
    "__name__ __doc__ __init__ __len__ __call__ __getitem__ __setitem__ __iter__ __next__ __eq__ "
    "__lt__ __contains__ __version__ __post_init__ __add__ __hash__"
)
# Roads from a harmless object to the interpreter, and from an array to a file or an address.
_ATTRIBUTES = _words(
    "gi_frame gi_code cr_frame cr_code ag_frame ag_code tb_frame tb_next f_back f_globals f_locals "
    "f_builtins f_code co_code func_globals func_code mro tofile ctypes ctypeslib memmap fromfile "
    "DataSource f2py genfromtxt loadtxt savetxt savez savez_compressed fromregex"
)
_NUMPY_FILES = frozenset(("load", "save", "lib", "core", "_core", "testing", "distutils"))
# Parts of allowed packages that start processes, touch files or build code.
_SUBMODULES = _words(
    "numpy.ctypeslib numpy.f2py numpy.distutils numpy.testing numpy.lib numpy.core numpy._core "
    "scipy.io scipy.datasets scipy.weave scipy.LowLevelCallable scipy._lib numba.core numba.cuda "
    "numba.pycc numba.extending numba.cffi_support numba.misc networkx.readwrite "
    "networkx.drawing random._os collections.sys"
)


def offence(tree: ast.AST) -> str:
    """Say in one line what in the program is refused, and where; empty if nothing is."""
    for node in ast.walk(tree):
        found = _offence(node)
        if found:
            return f"{found} (line {getattr(node, 'lineno', 1)})"
    return ""


def _offence(node: ast.AST) -> str:
    if isinstance(node, ast.Import):
        return next(filter(None, (_module(alias.name) for alias in node.names)), "")
    if isinstance(node, ast.ImportFrom):
        return _import_from(node)
    if isinstance(node, ast.Attribute):
        return _attribute(node)
    if isinstance(node, ast.Name):
        return _name(node)
    if isinstance(node, ast.Call):
        return _call(node)
    return _constant(node) if isinstance(node, ast.Constant) else ""


def _module(name: str) -> str:
    if name.partition(".")[0] not in IMPORTS:
        return f"import of {name[:60]} is not allowed"
    if any(name == part or name.startswith(part + ".") for part in _SUBMODULES):
        return f"import of {name[:60]} is not allowed"
    return ""


def _import_from(node: ast.ImportFrom) -> str:
    module = node.module or ""
    if node.level:
        return "a relative import is not allowed"
    refused = _module(module)
    for alias in node.names:
        if refused:
            return refused
        if module == "sys" and alias.name not in _SYS:
            return f"sys.{alias.name[:60]} is not allowed"
        if alias.name in _ATTRIBUTES or alias.name.startswith("_"):
            return f"{module[:60]}.{alias.name[:60]} is not allowed"
        if module == "numpy" and alias.name in _NUMPY_FILES:
            return f"numpy.{alias.name[:60]} is not allowed"
        refused = _module(f"{module}.{alias.name}")
    return refused


def _attribute(node: ast.Attribute) -> str:
    name = node.attr
    if _is_dunder(name) and name not in _DUNDER_ATTRIBUTES:
        return f"access to {name[:60]} is not allowed"
    if name in _ATTRIBUTES:
        return f"access to {name} is not allowed"
    if isinstance(node.value, ast.Name):
        owner = node.value.id
        if owner == "sys" and name not in _SYS:
            return f"sys.{name[:60]} is not allowed"
        if owner in ("np", "numpy") and name in _NUMPY_FILES:
            return f"np.{name} is not allowed"
    return ""


def _name(node: ast.Name) -> str:
    name = node.id
    if _is_dunder(name) and (name not in _DUNDER_NAMES or not isinstance(node.ctx, ast.Load)):
        return f"use of {name[:60]} is not allowed"
    if name in _CALLS and isinstance(node.ctx, ast.Load):
        return f"use of {name} is not allowed"
    return ""


def _call(node: ast.Call) -> str:
    """``getattr`` and its like are refused unless the name is written out and ordinary."""
    if not isinstance(node.func, ast.Name) or node.func.id not in _ATTRIBUTE_CALLS:
        return ""
    name = node.args[1] if len(node.args) > 1 else None
    if not isinstance(name, ast.Constant) or not isinstance(name.value, str):
        return f"{node.func.id} with a computed name is not allowed"
    if name.value.startswith("_") or name.value in _ATTRIBUTES:
        return f"{node.func.id} of {name.value[:60]} is not allowed"
    return ""


def _constant(node: ast.Constant) -> str:
    if isinstance(node.value, str) and "{" in node.value and ".__" in node.value:
        return "a format string that reaches for attributes is not allowed"
    return ""


def _is_dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__") and len(name) > 4
