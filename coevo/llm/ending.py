"""Where the code that a model writes ends: what follows it is wasted and not worth decoding.

A reply ends with the first code block that holds the function asked for: at the block's closing
fence or, since models that continue a begun reply often go on in the same block, before the first
top-level statement after the function that is not part of a program of functions: ``print(…)``,
an assignment, ``if __name__``, ``# Example usage``, prose, or a function that nothing has called.
Helpers, decorators, imports and ordinary comments belong to the program and do not end it.
"""

from __future__ import annotations

import ast
import re

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_FENCE = re.compile(r"[ \t]*```")
_START = re.compile(r"(import|from|def|class|async|@)\b|@")
_BELONGS = re.compile(r"(def|class|async|import|from)\b|@|[)\]}]")
_DEFINITION = re.compile(r"(?:async\s+)?(def|class)\s+(\w+)\s*[(:]")
_DEMO = re.compile(
    r"#+\s*(example|sample|usage|test|demo|driver|main\b|run\b|call\b|print|output|end of)", re.I
)
# A line is judged once its first word cannot change any more.
_SETTLED = re.compile(r"[^\s#\w`]|`{1,2}[^`]|\w+\W|#.*\n")


def code_end(begun: str, text: str, function: str) -> int | None:
    """Number of characters of ``text`` up to the end of the code; None while it is incomplete.

    ``begun`` is the start of the reply that was written for the model, ``text`` what the model has
    written so far, ``function`` the name asked for (empty: any). A closing fence written by the
    model is part of the code's text, a statement that ends it is not.
    """
    reply = begun + text
    name = re.escape(function) if function else r"[A-Za-z_]\w*"
    define = re.compile(rf"[ \t]*(async[ \t]+)?def[ \t]+{name}[ \t]*\(")
    opened: int | None = None  # where the code starts: after the opening fence, or unfenced
    fenced = defined = False
    position = 0
    for line in _LINE.findall(reply):
        fence = _FENCE.match(line)
        if fence and fenced:
            if defined:
                return max(0, position + fence.end() - len(begun))
            opened, fenced = None, False
        elif fence:
            opened, fenced, defined = position + len(line), True, False
        else:
            if opened is None and not fenced and _START.match(line):
                opened = position
            if defined and opened is not None and position >= len(begun):
                code = reply[opened:position]
                if _ends(line, code, function) and _parses(code):
                    return max(0, len(code.rstrip()) + opened - len(begun))
            defined = defined or (opened is not None and define.match(line) is not None)
        position += len(line)
    return None


def code_is_complete(begun: str, text: str, function: str) -> bool:
    """Whether the reply holds the whole function and has left it."""
    return code_end(begun, text, function) is not None


def _ends(line: str, code: str, function: str) -> bool:
    """Whether a line after the function starts something that is no part of the program.

    Another function or class is one if the code before it mentions its name: a helper. A test of
    the function, or the function once more, is not.
    """
    if made := _DEFINITION.match(line):
        return made[2] == function or not re.search(rf"\b{made[2]}\b", code)
    if line[0].isspace() or not _SETTLED.match(line) or _BELONGS.match(line):
        return False
    return line[0] != "#" or _DEMO.match(line) is not None


def _parses(code: str) -> bool:
    """Whether the code is whole: not inside a string, a bracket or a function without a body."""
    try:
        ast.parse(code)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return False
    return True
