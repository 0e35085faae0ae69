"""Find the program in what a language model wrote.

Small models write the right function in many wrong wrappings: two code blocks, no block, prose
round it, a class round it, an example call after it, a tail cut off by the token limit. `parse`
takes the wrapping off and keeps the model's own lines. It reads and never runs: the text is
hostile until the sandbox has had it.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

from coevo.llm.program import program

MAX_BYTES = 64 * 1024  # of a reply; a heuristic needs a few hundred
MAX_IDEA = 200  # characters

# An opening or closing fence, with a language when that ends the line or is Python.
_FENCE = re.compile(
    r"(?:`{3,}|~{3,})(?:[\w+#.-]*[ \t]*(?=\n|\Z)|[ \t]*(?:python3?|py)\b[ \t]*)?", re.I
)
# What a chat model writes when its turn is over: whatever follows is another conversation.
_END_OF_TURN = re.compile(r"<\|[a-z_]+\|>|</?s>|\[/?INST\]")
_CODE_LINE = re.compile(r"[ \t]*(?:import |from \w|def |class |@\w)")
_CODE_START = re.compile(r"^[ \t]*(?:`{3}|~{3}|import |from \w|def |class )", re.M)
_IDEA_COMMENT = re.compile(r"#[ \t]*idea\b[ \t]*:?[ \t]*(.*)", re.I)
_BRACED = re.compile(r"\{([^{}]{8,2000})\}")
_JSON_VALUE = re.compile(r'\s*"\w+"\s*:\s*"([^"]+)"')


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
    and constants that the function needs; all other top-level statements are dropped. If the
    function is there but is not Python, it is returned as it stands, for the sandbox to say so.

    Raises `NotParsed` if there is no such function, or more than ``MAX_BYTES`` of text.
    """
    if len(reply) <= MAX_BYTES:
        begun, reply = _clean(begun), _clean(reply)
    if len(reply.encode(errors="replace")) > MAX_BYTES:
        raise NotParsed(f"the reply is longer than {MAX_BYTES // 1024} KiB")
    if not reply.strip():
        raise NotParsed("the reply is empty")
    sources = [*_sources(begun, reply)]
    try:
        best = _best(sources, function, template)
    except (RecursionError, MemoryError):
        raise NotParsed("the code is nested too deeply") from None
    code, source = best or 2 * (_broken(sources, function),)
    if not code or not source:
        raise NotParsed(f"no function {function!r} in the reply")
    return Parsed(code, _idea(code, source, begun + reply, template))


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
        indented = _FENCE.split(begun + _indented(reply))[:2]
        pieces = pieces[:2] + _FENCE.split(reply) + indented
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


# --- the best of them -----------------------------------------------------------------------------


def _best(sources: list[str], function: str, template: str) -> tuple[str, str] | None:
    """The best program, and the piece it was found in; the earliest of equals."""
    best, quality = None, -1
    for source in sources:
        found = program(source, function, template)
        if found is not None and found.quality > quality:
            best, quality = (found.code, source), found.quality
        if quality == 3:
            break
    return best


def _broken(sources: list[str], function: str) -> str | None:
    """The first piece that defines the function, though it is not Python."""
    signature = re.compile(rf"^[ \t]*def[ \t]+{re.escape(function)}\b", re.M)
    return next((source for source in sources if signature.search(source)), None)


# --- the idea -------------------------------------------------------------------------------------


def _idea(code: str, source: str, text: str, template: str) -> str:
    """One line: the ``# Idea:`` comment, else EoH's sentence in braces, else the first comment."""
    for piece in (code, source, text):
        for match in _IDEA_COMMENT.finditer(piece):
            if idea := _sentence(match[1], piece[match.end() :][:2000]):
                return _one_line(idea)
    prose = _CODE_START.split(text, maxsplit=1)[0]
    if braced := _BRACED.search(prose):
        return _one_line((_JSON_VALUE.match(braced[1]) or braced)[1])
    for line in code.split("\n"):
        comment = line.strip()
        if comment.startswith("#") and comment not in template and len(comment) > 8:
            return _one_line(comment.lstrip("# "))
    return ""


def _sentence(first: str, rest: str) -> str:
    """The idea's first line, and the comment lines after it that carry its sentence on."""
    idea = first.strip()
    for line in rest.split("\n")[1:]:
        comment = line.strip()
        words = comment.lstrip("# ")
        if not comment.startswith("#") or idea.endswith(".") or (idea and not words[:1].islower()):
            break
        idea = f"{idea} {words}".strip()
    return idea


def _one_line(text: str) -> str:
    text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return text if len(text) <= MAX_IDEA else text[: MAX_IDEA - 1] + "…"
