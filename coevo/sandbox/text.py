"""Text that comes from a candidate, made fit to show: its messages and its output."""

from __future__ import annotations

import re

LONGEST = 300  # characters in a message

_PATH = re.compile(r"(?:/[\w.+@~-]+)+/([\w.+@~-]+)")
_SPACE = re.compile(r"\s+")


def one_line(text: str) -> str:
    """Printable text of one line and at most 300 characters, with file names but no directories.

    >>> one_line("cannot open /home/ann/runs/a.py\\x1b[31m\\n  at all")
    'cannot open a.py[31m at all'
    """
    text = _SPACE.sub(" ", text[: 20 * LONGEST]).strip()
    text = "".join(c for c in text if c.isprintable())
    text = _PATH.sub(r"\1", text)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def printable(text: str) -> str:
    """The same lines without control characters, so that a terminal may show them."""
    return "".join(c for c in text if c.isprintable() or c in "\n\t")
