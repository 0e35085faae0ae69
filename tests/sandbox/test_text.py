"""Text from a candidate, made fit to show."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from coevo.sandbox.text import one_line, printable


def test_paths_lose_their_directories() -> None:
    assert one_line("No such file: '/home/ann/run 1/x.py'") == "No such file: 'run 1/x.py'"
    assert one_line("a/b is no path, 3 / 4 no more") == "a/b is no path, 3 / 4 no more"


@given(st.text(max_size=2000))
def test_one_line_is_short_and_printable(text: str) -> None:
    line = one_line(text)
    assert len(line) <= 300
    assert line.isprintable()


@given(st.text())
def test_printable_keeps_lines(text: str) -> None:
    shown = printable(text)
    assert shown.count("\n") == text.count("\n")
    assert all(c.isprintable() or c in "\n\t" for c in shown)
