"""Find the program in what a language model wrote.

Small models write the right function in many wrong wrappings: two code blocks, no block, prose
round it, a class round it, an example call after it, a tail cut off by the token limit. `parse`
takes the wrapping off and keeps the model's own lines. It reads and never runs: the text is
hostile until the sandbox has had it.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

MAX_BYTES = 64 * 1024  # of a reply; a heuristic needs a few hundred
MAX_IDEA = 200  # characters
_MAX_CUTS = 200  # tries at dropping an incomplete tail

# An opening or closing fence, with a language when that ends the line or is Python.
_FENCE = re.compile(
    r"(?:`{3,}|~{3,})(?:[\w+#.-]*[ \t]*(?=\n|\Z)|[ \t]*(?:python3?|py)\b[ \t]*)?", re.I
)
# What a chat model writes when its turn is over: whatever follows is another conversation.
_END_OF_TURN = re.compile(r"<\|[a-z_]+\|>|</?s>|\[/?INST\]")
_CODE_LINE = re.compile(r"[ \t]*(?:import |from \w|def |class |@\w)")
_IDEA_COMMENT = re.compile(r"#[ \t]*idea\b[ \t]*:?[ \t]*(.*)", re.I)
_BRACED = re.compile(r"\{([^{}]{8,2000})\}")

_Function = ast.FunctionDef


class NotParsed(Exception):
    """No function could be found in the reply (stage ``parse``); the message is one line."""


@dataclass(frozen=True)
class Parsed:
    """The program, as it is to be run, and the model's one-line idea (may be empty)."""

    code: str
    idea: str


def parse(begun: str, reply: str, function: str, template: str) -> Parsed:
    """Find ``function`` in ``begun + reply``.

    ``begun`` is the part of the reply that was written for the model (may be empty), ``template``
    the typed function it was asked to complete. The program keeps the imports, functions, classes
    and constants that the function can need; other top-level statements are dropped. If the
    function is there but is not Python, it is returned as it stands, for the sandbox to say so.

    Raises `NotParsed` if there is no such function, or more than ``MAX_BYTES`` of text.
    """
    if len(reply.encode(errors="replace")) > MAX_BYTES:
        raise NotParsed(f"the reply is longer than {MAX_BYTES // 1024} KiB")
    if not reply.strip():
        raise NotParsed("the reply is empty")
    begun, reply = _clean(begun), _clean(reply)
    sources = [*_sources(begun, reply)]
    try:
        best = max(
            (found for source in sources for found in _find(source, function, template)),
            key=lambda found: found.quality,
            default=None,
        )
    except (RecursionError, MemoryError):
        raise NotParsed("the code is nested too deeply") from None
    if best is not None:
        return Parsed(best.code, _idea(best.source, begun + reply, template))
    broken = _broken(sources, function)
    if broken is None:
        raise NotParsed(f"no function {function!r} in the reply")
    return Parsed(broken, _idea(broken, begun + reply, template))


def _clean(text: str) -> str:
    """Cut at the end of the turn; plain newlines, spaces for tabs, no NUL or lone surrogates."""
    text = _END_OF_TURN.split(text, maxsplit=1)[0]
    text = text.encode(errors="replace").decode().replace("\0", "").replace("\ufeff", "")
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\f", "").expandtabs(4)


# --- pieces of text that may be a program ---------------------------------------------------------


def _sources(begun: str, reply: str) -> Iterator[str]:
    """Pieces of the text that may be a program, likeliest first.

    Fences are taken as separators, whichever way they face: replies nest them, forget one, or open
    a new block in the middle of the begun one.
    """
    pieces = _FENCE.split(begun + reply)
    if begun:
        indented = _FENCE.split(begun + _indented(reply))
        pieces = pieces[:2] + indented[:2] + pieces[2:] + _FENCE.split(reply)
    seen = set()
    for piece in pieces:
        for source in (piece, _from_code_line(piece)):
            source = textwrap.dedent(source.expandtabs(4)).strip("\n")
            if source.strip() and source not in seen:
                seen.add(source)
                yield source + "\n"


def _indented(reply: str) -> str:
    """A continued reply whose body starts at the margin, moved under the signature."""
    first, newline, rest = reply.partition("\n")
    return first + newline + textwrap.indent(rest, "    ")


def _from_code_line(piece: str) -> str:
    """The piece without the prose before its first line of code."""
    lines = piece.split("\n")
    for i, line in enumerate(lines):
        if _CODE_LINE.match(line):
            return "\n".join(lines[i:])
    return ""


# --- the function in a piece ----------------------------------------------------------------------


@dataclass(frozen=True)
class _Found:
    code: str
    source: str  # the piece it was found in
    quality: int  # 3: under its own name and returns a value, …, 0: renamed and doesn't


def _find(source: str, function: str, template: str) -> Iterator[_Found]:
    tree, cut = _tree(source)
    if tree is None:
        return
    node, alias = _function(tree, function, template)
    if node is None:
        return
    returns = _returns_value(node)
    if cut and not returns:
        return  # what is left of a broken function is no function
    code = _program(tree, source, node, alias)
    yield _Found(code, source, 2 * returns + (node.name == function))


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
    for node in reversed(functions):
        if node.name == function:
            return _innermost(node, tree), ""
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
    first = node.args.args[:1]
    own = first[0].arg if first and first[0].arg in ("self", "cls") else ""
    if own and any(isinstance(n, ast.Name) and n.id == own for n in ast.walk(node)):
        return f"{node.name} = {holder.name}().{node.name}"
    if "staticmethod" in marks:
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


# --- the program round the function ---------------------------------------------------------------


def _program(tree: ast.Module, source: str, node: _Function, alias: str) -> str:
    """The imports, definitions and constants of the module, in order, in the model's own lines."""
    defined = [n for n in tree.body if isinstance(n, _Function | ast.ClassDef)]
    own = {n.name for n in defined}
    needed = set(_names(defined))
    kept: list[ast.stmt] = []
    for statement in reversed(tree.body):
        if isinstance(statement, _Function | ast.ClassDef):
            kept.append(statement)
        elif isinstance(statement, ast.Import | ast.ImportFrom):
            bound = {(n.asname or n.name).split(".")[0] for n in statement.names}
            if bound & needed or "*" in bound:
                kept.append(statement)
        elif isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
            used = set(_names([statement.value]))
            if set(_names([statement])) - used & needed and not used & own:
                kept.append(statement)
                needed |= used
    lines = source.split("\n")
    parts = [_text(statement, lines) for statement in reversed(kept)]
    return "\n\n".join(dict.fromkeys([*parts, alias] if alias else parts)) + "\n"


def _names(nodes: Iterable[ast.AST]) -> Iterator[str]:
    return (n.id for node in nodes for n in ast.walk(node) if isinstance(n, ast.Name))


def _text(node: ast.stmt, lines: list[str]) -> str:
    """The statement's own lines, comments included, at the margin."""
    start = node.lineno
    if isinstance(node, _Function | ast.ClassDef):
        start = min([start, *(mark.lineno for mark in node.decorator_list)])
    text = textwrap.dedent("\n".join(lines[start - 1 : node.end_lineno]))
    try:
        same = ast.dump(ast.parse(text)) == ast.dump(ast.Module([node], []))
    except SyntaxError:
        same = False
    return text if same else ast.unparse(node)  # changed above, or shares its line with another


def _broken(sources: list[str], function: str) -> str | None:
    """The first piece that defines the function, though it is not Python."""
    signature = re.compile(rf"^[ \t]*def[ \t]+{re.escape(function)}\b", re.M)
    return next((source for source in sources if signature.search(source)), None)


# --- the idea -------------------------------------------------------------------------------------


def _idea(source: str, text: str, template: str) -> str:
    """One line: the ``# Idea:`` comment, else EoH's sentence in braces, else the first comment."""
    for piece in (source, text):
        if (match := _IDEA_COMMENT.search(piece)) and match[1].strip():
            return _one_line(_continued(match[1], piece[match.end() :]))
    prose = text.split(source.strip())[0]
    if match := _BRACED.search(prose):
        return _one_line(match[1])
    for line in source.split("\n"):
        comment = line.strip()
        if comment.startswith("#") and comment not in template and len(comment) > 8:
            return _one_line(comment.lstrip("# "))
    return ""


def _continued(first: str, rest: str) -> str:
    """The idea with the comment lines that carry its sentence on."""
    lines = [first]
    for line in rest.split("\n")[1:]:
        comment = line.strip()
        carries_on = comment.startswith("#") and comment.lstrip("# ")[:1].islower()
        if not carries_on or lines[-1].rstrip().endswith("."):
            break
        lines.append(comment.lstrip("# "))
    return " ".join(lines)


def _one_line(text: str) -> str:
    text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return text if len(text) <= MAX_IDEA else text[: MAX_IDEA - 1] + "…"
