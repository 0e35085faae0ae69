"""Where code ends, on the shapes of reply that small models really write."""

from __future__ import annotations

import pytest

from coevo.llm.ending import code_end, code_is_complete

BEGUN = "```python\nimport numpy as np\n\ndef f(a, b):\n    # Idea:"
BODY = " go near.\n    x = a + b\n    return x\n"


@pytest.mark.parametrize(
    "tail",
    ["```", "\n```", "```\n\nThis works because", "\n```python\n# more"],
)
def test_a_closing_fence_ends_the_code_and_stays(tail: str) -> None:
    text = BODY + tail
    end = code_end(BEGUN, text, "f")
    assert end is not None
    assert text[:end].endswith("```")
    assert text[:end].count("```") == 1


@pytest.mark.parametrize(
    "tail",
    [
        "\nprint(f(1, 2))",
        "print(",
        "\n# Example usage:\n",
        "\n# Test the function\n",
        "\nif __name__",
        "\nnodes = [1]",
        "\nThis function",
        "\nThe ",
        "\n'''",
        "\n-",
        "\nwhile True:",
    ],
)
def test_a_statement_after_the_function_ends_the_code_and_goes(tail: str) -> None:
    text = BODY + tail
    assert code_end(BEGUN, text, "f") == len(BODY.rstrip())


@pytest.mark.parametrize(
    "tail",
    [
        "",
        "\n",
        "\n    y = 2\n",
        "\nprint",  # might yet become a longer word
        "\nde",
        "\ndef helper(x):\n    return x\n",
        "\nclass A:\n    pass\n",
        "\n@njit\ndef helper(x):\n    return x\n",
        "\nimport math\nfrom math import pi\n",
        "\n# how the neighbours are found\n",
        "\n# Ex",
        "`",
        "``",
    ],
)
def test_what_may_belong_to_the_program_does_not_end_it(tail: str) -> None:
    calling = BODY.replace("a + b", "helper(a + A.b)")
    assert not code_is_complete(BEGUN, calling + tail, "f")


def test_unindented_lines_inside_strings_and_brackets_do_not_end_it() -> None:
    begun = "```python\ndef f(a):\n"
    assert not code_is_complete(begun, '    """Go\nprint(1)\n', "f")
    assert not code_is_complete(begun, "    x = [\n1,\n2,\n", "f")
    assert code_is_complete(begun, '    """Go\nprint(1)\n"""\n    return a\nprint(1)', "f")


def test_the_function_needs_a_body() -> None:
    assert not code_is_complete("", "def f(a):\nprint(a)\n", "f")


def test_a_block_without_the_function_does_not_count() -> None:
    text = "First:\n```\nx = 1\n```\nthen\n```python\ndef f(a):\n    return a\n"
    assert not code_is_complete("", text, "f")
    assert code_end("", text + "```\nbye", "f") == len(text) + 3


def test_another_function_counts_only_if_none_is_named() -> None:
    text = "```python\ndef g(a):\n    return a\n```\n"
    assert not code_is_complete("", text, "f")
    assert code_is_complete("", text, "")


def test_a_reply_without_fences() -> None:
    text = "import numpy as np\ndef f(a):\n    return a\n"
    assert not code_is_complete("", text, "f")
    assert code_end("", text + "\nprint(f(1))", "f") == len(text) - 1
    assert not code_is_complete("", "Sure! Here is f:\n", "f")
    said = "Here is the function:\n\ndef f(a):\n    return a\n"
    assert code_is_complete("", said + "\nIt returns", "f")


def test_a_method_of_that_name_counts() -> None:
    text = "```python\nclass A:\n    def f(self, a):\n        return a\n"
    assert not code_is_complete("", text, "f")
    assert code_is_complete("", text + "\nA().f(1)", "f")


def test_helpers_after_the_function_are_kept() -> None:
    helper = "\ndef helper(x):\n    return x\n"
    calling = BODY.replace("a + b", "helper(a)")
    assert code_end(BEGUN, calling + helper + "\nprint(1)", "f") == len((calling + helper).rstrip())


@pytest.mark.parametrize("tail", ["\ndef test_f():\n", "\ndef f(a, b):\n", "\nclass T:\n"])
def test_functions_that_nothing_calls_are_not_waited_for(tail: str) -> None:
    assert code_end(BEGUN, BODY + tail, "f") == len(BODY.rstrip())


def test_nothing_that_was_begun_is_cut() -> None:
    assert code_end("```python\ndef f(a):\n    return a\n\n\n", "print(1)", "f") == 0
