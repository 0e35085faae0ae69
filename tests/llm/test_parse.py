"""Every rule of the parser on replies that real models wrote (see ``replies/README.md``)."""

from __future__ import annotations

import ast
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coevo.llm.parse import MAX_BYTES, MAX_IDEA, NotParsed, Parsed, parse

REPLIES = Path(__file__).parent / "replies"
FUNCTION = "select_next_node"
ARGUMENTS = ["current_node", "destination_node", "unvisited_nodes", "distance_matrix"]
TEMPLATE = f'''def {FUNCTION}({": int, ".join(ARGUMENTS)}) -> int:
    """Choose the node that the tour visits next."""
'''
BEGUN = (REPLIES / "begun.txt").read_text()


def read(name: str, begun: bool = False) -> Parsed:
    own = REPLIES / f"{name}.begun.txt"
    start = own.read_text() if own.exists() else BEGUN if begun else ""
    return parse(start, (REPLIES / f"{name}.txt").read_text(), FUNCTION, TEMPLATE)


def top(code: str) -> list[str]:
    """What the module holds: names of definitions, kinds of other statements."""
    return [getattr(node, "name", type(node).__name__) for node in ast.parse(code).body]


def arguments(code: str) -> list[str]:
    (node,) = (n for n in ast.parse(code).body if getattr(n, "name", "") == FUNCTION)
    assert isinstance(node, ast.FunctionDef)
    return [arg.arg for arg in node.args.args]


# --- wrappings ------------------------------------------------------------------------------------


def test_prose_and_end_of_turn_after_the_code() -> None:
    got = read("prose_after", begun=True)
    assert top(got.code) == ["Import", FUNCTION]
    assert got.code.rstrip().endswith("return next_node")
    assert got.idea.startswith("We need to find the shortest back path")


def test_code_without_a_closing_fence() -> None:
    got = read("no_closing_fence", begun=True)
    assert got.code.rstrip().endswith("return unvisited_nodes[np.argmin(score)]")


def test_two_blocks_the_second_an_example_cut_off() -> None:
    got = read("two_blocks_second_cut")
    assert top(got.code) == ["Import", FUNCTION]
    assert "Sample" not in got.code


def test_the_idea_in_a_block_of_its_own() -> None:
    got = read("idea_in_other_block")
    assert top(got.code) == ["Import", FUNCTION]
    assert got.idea == (
        "Randomly choose the nearest unvisited node from the current set of unvisited nodes"
    )


def test_one_function_of_another_name() -> None:
    got = read("other_name")
    assert top(got.code) == ["Import", "solve_tour_with_heuristics", "Assign"]
    assert got.code.endswith(f"\n{FUNCTION} = solve_tour_with_heuristics\n")


def test_another_name_and_an_example_call() -> None:
    got = read("other_name_with_example")
    assert top(got.code) == ["traveling_salesman", "Assign"]
    assert "print" not in got.code


def test_a_class_that_needs_no_object_is_taken_off() -> None:
    got = read("class_without_self")
    assert top(got.code) == [FUNCTION]
    assert arguments(got.code) == ARGUMENTS
    assert "# Function to calculate the fitness of a given tour" in got.code  # not rewritten


def test_a_static_method_is_taken_off() -> None:
    got = read("static_method")
    assert top(got.code) == ["ImportFrom", FUNCTION]
    assert arguments(got.code) == ARGUMENTS
    assert "staticmethod" not in got.code


def test_a_static_method_that_calls_its_class_is_kept() -> None:
    got = read("static_method_with_helper")
    assert top(got.code) == ["TSP", "Assign"]
    assert got.code.endswith(f"{FUNCTION} = TSP.{FUNCTION}\n")


def test_tabs() -> None:
    for name in ("tabs", "tabs_in_blocks"):
        got = read(name)
        assert arguments(got.code) == ARGUMENTS
        assert "\t" not in got.code
        compile(got.code, name, "exec")


def test_no_fence_at_all() -> None:
    got = read("unfenced_after_def")
    assert arguments(got.code) == ARGUMENTS
    assert got.code.rstrip().endswith("return best_node")


def test_a_decorated_function_of_another_name_and_prose_cut_off() -> None:
    got = read("other_name_decorated_prose_cut")
    assert top(got.code) == ["ImportFrom", "tsp", "Assign"]
    assert "@lru_cache(None)\ndef tsp(" in got.code


def test_a_forgotten_import_is_added() -> None:
    got = read("missing_import")
    assert top(got.code) == ["Import", FUNCTION]
    assert got.code.startswith("import heapq\n")


@pytest.mark.parametrize(
    ("name", "imports"), [("class_with_self", []), ("class_needs_arguments", ["Import"])]
)
def test_a_class_that_uses_its_object_is_kept(name: str, imports: list[str]) -> None:
    got = read(name)
    assert top(got.code) == [*imports, "TSPSolver", "Assign"]
    assert got.code.endswith(f"{FUNCTION} = TSPSolver().{FUNCTION}\n")


# --- tails ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("helpers_and_main_cut", [FUNCTION]),
        ("second_function_cut", ["ImportFrom", FUNCTION]),
        ("example_function_cut", ["Import", FUNCTION]),
        ("example_in_comments_cut", [FUNCTION]),
    ],
)
def test_what_the_function_does_not_need_is_dropped(name: str, kept: list[str]) -> None:
    got = read(name)
    assert top(got.code) == kept
    assert arguments(got.code) == ARGUMENTS


@pytest.mark.parametrize("name", ["cut_in_body", "stub"])
def test_a_function_cut_short_is_left_for_the_sandbox(name: str) -> None:
    code = read(name).code
    reply = (REPLIES / f"{name}.txt").read_text()
    assert f"def {FUNCTION}(" in code
    assert code.split("def ")[1].split() == reply.split("def ")[1].split("```")[0].split()


@pytest.mark.parametrize("name", ["comments_only", "endless_comments"])
def test_a_body_of_comments_is_no_python(name: str) -> None:
    with pytest.raises(SyntaxError):
        ast.parse(read(name, begun=True).code)


@pytest.mark.parametrize(
    ("name", "kept"), [("no_return", [FUNCTION]), ("cut_before_return", ["ImportFrom", FUNCTION])]
)
def test_a_function_without_return_is_still_the_function(name: str, kept: list[str]) -> None:
    assert top(read(name).code) == kept


@pytest.mark.parametrize(
    "name",
    [
        "prose_only",
        "rambling",
        "signature_without_def",
        "script_without_function",
        "string_only",
        "idea_in_braces_only",
        "not_a_name",
    ],
)
def test_no_function_is_said_to_be_none(name: str) -> None:
    with pytest.raises(NotParsed, match="no function 'select_next_node' in the reply"):
        read(name)


# --- replies begun for the model ------------------------------------------------------------------


def test_goes_on_right_after_a_number() -> None:
    assert "- 0.212 * distance_matrix[destination_node" in read("number_goes_on").code
    got = read("changed_number")
    assert arguments(got.code) == ARGUMENTS
    assert got.idea == "nearest, less 0.4 of the way back; now other parameters."


def test_an_idea_over_several_lines() -> None:
    idea = read("idea_over_lines", begun=True).idea
    assert idea.startswith("Find the nearest node without the current node except destination_node")
    assert "that is not the destination node, calculate" in idea
    assert len(idea) <= MAX_IDEA


def test_only_the_first_sentence_is_the_idea() -> None:
    assert read("comment_lines_between", begun=True).idea == (
        "Choose the next node so that the tour to the destination node looks as good as possible."
    )


def test_an_idea_in_json() -> None:
    got = read("idea_in_json")
    assert got.idea.startswith("The algorithm implements a nearest neighbor (NN) strategy")
    assert top(got.code) == [FUNCTION]


BODY = "    score = distance_matrix[current_node]\n    return int(np.argmin(score))\n"
PLAIN = f"def {FUNCTION}({', '.join(ARGUMENTS)}):\n{BODY}"


# Variants made by hand of what models write, where no real reply shows the rule alone.
@pytest.mark.parametrize(
    "reply",
    [
        " nearest.\n" + BODY + "```",
        " nearest.\n" + BODY.replace("    ", "  "),  # another indentation than the begun one
        " nearest.\n" + BODY.replace("    ", "\t"),
        " nearest.\n" + BODY.replace("    ", ""),  # at the margin
        " nearest.\n" + BODY.replace("    ", "") + "```\nand prose",
        " nearest.\n" + PLAIN + "```",  # the signature again
        " nearest.\n    " + PLAIN.replace("\n", "\n    ") + "\n```",  # and inside the function
        " nearest.\n```\n\n```python\n" + PLAIN + "```",  # a fresh block
        " nearest.\n```python\n" + PLAIN + "```\n",  # nested fences
        " nearest.\n" + BODY + "\nprint(select_next_node(0, 0, [1], [[0]]))\n",
        " nearest.\n" + BODY + "\nif __name__ == '__main__':\n    print(1)\n",
        " nearest.\n" + BODY + "\nThis picks the nearest node.",
        " nearest.\n" + BODY + "<|im_end|>\n<|im_start|>user\nmore<|im_end|>",
        " nearest.\r\n" + BODY.replace("\n", "\r\n"),
        " nearest.\n" + BODY + "\nnodes = np.array([\n    [0, 1",
    ],
)
def test_begun_replies_by_hand(reply: str) -> None:
    got = parse(BEGUN, reply, FUNCTION, TEMPLATE)
    assert arguments(got.code) == ARGUMENTS
    assert "return int(np.argmin(score))" in got.code
    assert got.code.count("def ") == 1
    assert "print" not in got.code
    assert got.idea == "nearest."
    compile(got.code, "reply", "exec")


@pytest.mark.parametrize(
    "reply",
    [
        PLAIN,
        "Sure! Here it is:\n" + PLAIN + "\nIt is greedy.",
        "1. The function:\n\n    ```python\n    " + PLAIN.replace("\n", "\n    ") + "\n    ```\n",
        "~~~python\n" + PLAIN + "~~~",
        "```python " + PLAIN + "```",
        "```\n" + PLAIN,
        "```python\nimport matplotlib\nfrom typing import *\n" + PLAIN + "```",
        "```python\n" + PLAIN + "```\nBetter:\n```python\n" + PLAIN.replace("score", "s") + "```",
        "```python\nclass A:\n    @staticmethod\n    " + PLAIN.replace("\n", "\n    ") + "\n```",
        "<think>easy</think>\n```python\n" + PLAIN + "```",
    ],
)
def test_whole_replies_by_hand(reply: str) -> None:
    code = parse("", reply, FUNCTION, TEMPLATE).code
    assert arguments(code) == ARGUMENTS
    assert "return int(np.argmin(score))" in code
    assert "matplotlib" not in code


def test_keeps_what_the_function_needs_wherever_it_stands() -> None:
    reply = (
        "```python\nimport math, numpy as np\nfrom functools import cache\nimport os\nA = B = 2.0\n"
        "C = A * 2\nD = [1]\n\n@cache\ndef scale(x):\n    return C * math.sqrt(x)\n\n"
        f"def unused():\n    return os.getcwd()\n\n{PLAIN.replace('int(', 'later(')}\n"
        "def later(x):\n    return int(scale(x))\n\nresult = later(3)\nprint(result)\n```"
    )
    code = parse("", reply, FUNCTION, TEMPLATE).code
    assert top(code) == ["Import", "ImportFrom", "Assign", "Assign", "scale", FUNCTION, "later"]
    assert "@cache" in code


def test_one_of_several_by_its_arguments() -> None:
    other = PLAIN.replace(FUNCTION, "choose")
    code = parse("", f"def helper(x):\n    return x\n\n{other}", FUNCTION, TEMPLATE).code
    assert top(code) == ["Import", "choose", "Assign"]
    with pytest.raises(NotParsed):
        parse("", "def a(x):\n    return x\n\ndef b(x):\n    return x\n", FUNCTION, TEMPLATE)


@pytest.mark.parametrize(
    ("reply", "idea"),
    [
        ("{Take the nearest node.}\n```python\n" + PLAIN + "```", "Take the nearest node."),
        ("```python\n# idea - be greedy\n" + PLAIN + "```", "- be greedy"),
        ("```python\n" + PLAIN.replace(":\n", ":\n    # Be greedy\n") + "```", "Be greedy"),
        ("```python\n" + PLAIN + "```", ""),
        ("Idea\n```python\n" + PLAIN.replace("score", "{'a': 1, 'b': 22}[0]") + "```", ""),
        (PLAIN.replace(":\n", ":\n    # Idea: " + "x" * 500 + "\n"), "x" * (MAX_IDEA - 1) + "…"),
        (PLAIN.replace(":\n", ":\n    # Idea: bell\x07 and\u2028 more\n"), "bell and more"),
    ],
)  # fmt: skip
def test_ideas(reply: str, idea: str) -> None:
    assert parse("", reply, FUNCTION, TEMPLATE).idea == idea


# --- hostile text ---------------------------------------------------------------------------------

HOSTILE = {
    "parentheses": "(" * 60_000,
    "brackets": "    x = " + "[" * 60_000,
    "minuses": "    return " + "-" * 60_000 + "1",
    "sums": "    return " + "+".join(["1"] * 30_000),
    "attributes": "    return x" + ".a" * 30_000,
    "calls": "    return x" + "()" * 30_000,
    "lambdas": "    return " + "lambda: " * 8_000 + "1",
    "ifs": "\n".join(" " * i + "if 1:" for i in range(300)),
    "elifs": "    if 1: return 1\n" + "    elif 1: return 1\n" * 3_000,
    "tries": "try:\n x=1\n" * 6_000,
    "fences": "```\n" * 16_000,
    "functions": f"def {FUNCTION}(): return 1\n" * 1_800,
    "fenced functions": f"```\ndef {FUNCTION}(): pass\n" * 1_500,
    "classes": f"class A:\n def {FUNCTION}(self): return self.x\n" * 1_000,
    "nested functions": "\n".join("    " * i + f"def {FUNCTION}(a):" for i in range(95)),
    "chain": "a0=1\n" + "".join(f"a{i}=a{i - 1}\n" for i in range(1, 4_000)),
    "call chain": "".join(f"def a{i}(): return a{i + 1}()\n" for i in range(2_000)),
    "braces": "{" * 60_000,
    "ideas": "# Idea: " * 8_000,
    "empty ideas": "# idea\n\n" * 8_000,
    "quotes": '"""' * 20_000,
    "open strings": "x = '\n" * 9_000,
    "backslashes": "\\\n" * 30_000,
    "digits": "    return " + "9" * 60_000,
    "NUL": "\0" * 60_000,
    "surrogates": "\ud800" * 1_000,
    "tabs": "\t" * 60_000,
    "too long": "x" * (MAX_BYTES + 1),
    "too long in bytes": "é" * (MAX_BYTES // 2 + 1),
}


@pytest.mark.parametrize("begun", ["", BEGUN], ids=["whole", "begun"])
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_is_taken_or_refused_quickly(name: str, begun: str) -> None:
    tail = f"\ndef {FUNCTION}(): return a0 + a3999\n" if "chain" in name else ""
    started = time.process_time()
    try:
        said = parse(begun, HOSTILE[name] + tail, FUNCTION, TEMPLATE).code
    except NotParsed as error:
        said = f"NotParsed: {error}"
    assert FUNCTION in said or len(said.splitlines()) == 1
    assert time.process_time() - started < 5


def test_nothing_is_run(capsys: pytest.CaptureFixture[str]) -> None:
    parse("", f"print('run')\n@print('run')\n{PLAIN}", FUNCTION, TEMPLATE)
    assert capsys.readouterr().out == ""


@pytest.mark.filterwarnings("error")
def test_nothing_is_said_of_odd_strings() -> None:
    parse("", PLAIN.replace("score =", r"s = '\ \d'; score ="), FUNCTION, TEMPLATE)


@pytest.mark.parametrize("reply", ["", "  \n\t", "<|im_end|>", "\0"])
def test_an_empty_reply_is_said_to_be_empty(reply: str) -> None:
    with pytest.raises(NotParsed, match="the reply is empty"):
        parse(BEGUN, reply, FUNCTION, TEMPLATE)


PIECES = st.sampled_from(
    ["```", "python\n", "\n", "    ", "\t", PLAIN, BODY, "class A:\n", "# Idea: x", "{", "}",
     "return", "def f(x):", "import os\n", "<|im_end|>", "if 1:", "é", "\0", ";", "@", "'", '"""',
     "\\"]
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.lists(PIECES, max_size=12).map("".join), st.sampled_from(["", BEGUN]))
def test_any_text_parses_or_is_refused(reply: str, begun: str) -> None:
    try:
        got = parse(begun, reply, FUNCTION, TEMPLATE)
    except NotParsed:
        return
    assert FUNCTION in got.code
    assert "\0" not in got.code
    assert len(got.idea) <= MAX_IDEA
    again = parse("", got.code, FUNCTION, TEMPLATE)
    assert again.code.strip() == got.code.strip() or got.code.strip() in again.code
