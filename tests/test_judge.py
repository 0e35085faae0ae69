"""From a reply to a stage: one attempt for every way in which things go."""

from __future__ import annotations

from dataclasses import replace

import pytest

from coevo.attempt import Attempt, Prompt, Proposal, Stage
from coevo.judge import Judge, SandboxFailed
from coevo.problems.registry import load
from coevo.sandbox.limits import Limits
from coevo.sandbox.pool import SandboxPool
from coevo.sandbox.verdict import Verdict
from coevo.search.operators import signature

PROBLEM = load("tsp")
INSTANCES = PROBLEM.instances("train", 20, count=4)
BEGUN = f"```python\nimport numpy as np\n\n\n{signature(PROBLEM.template)}\n    # Idea:"

REPLIES = {
    Stage.REPLY: "  \n",
    Stage.UNSAFE: " read\n    import os\n    return os.getpid()\n",
    Stage.COMPILE: " broken\n    if unvisited_nodes[0] = 3:\n        return 1\n    return (\n",
    Stage.RUNTIME: " undefined\n    return unvisited_nodes[nobody]\n",
    Stage.TIMEOUT: " endless\n    while True:\n        pass\n",
    Stage.MEMORY: " large\n    x = np.ones(10**11)\n    return unvisited_nodes[0]\n",
    Stage.OUTPUT: " text\n    return 'node'\n",
    Stage.INFEASIBLE: " stay\n    return current_node\n",
    Stage.NONFINITE: " nan\n    return float('nan')\n",
    Stage.SCORED: " nearest\n    return unvisited_nodes[0]\n",
}
OWN_WORDS = {  # without a begun reply
    Stage.PARSE: "I am sorry, but as a language model I would rather not.",
    Stage.SIGNATURE: "```python\ndef select_next_node(a):\n    return a\n```",
}


@pytest.fixture(scope="module")
def judge():
    with SandboxPool(PROBLEM, INSTANCES, Limits(seconds=2.0), workers=2) as pool:
        yield Judge(PROBLEM, INSTANCES, pool)


def attempt(number, reply, begun=BEGUN):
    prompt = Prompt("write one", "", begun, PROBLEM.function)
    return Attempt(number, 0, Proposal("i1", (), prompt), reply=reply)


def test_every_stage(judge):
    expected = [*REPLIES, *OWN_WORDS]
    attempts = [attempt(i, text) for i, text in enumerate(REPLIES.values())]
    attempts += [attempt(len(attempts) + i, t, "") for i, t in enumerate(OWN_WORDS.values())]
    judged = sorted(judge.judge(attempts), key=lambda a: a.number)
    assert [a.stage for a in judged] == expected
    assert set(expected) == set(Stage) - {Stage.INFRASTRUCTURE}
    for one in judged:
        assert (one.objective is not None) == (one.stage is Stage.SCORED)
        assert "\n" not in one.message
        assert one.message or one.scored
        assert len(one.message) <= 300
    assert judged[-3].idea == "nearest"


def test_a_copy_is_judged_once(judge):
    spin = " slow\n    s = 0\n    for i in range(9):\n        s += i\n    return unvisited_nodes[0]"
    copy = spin.replace("slow", "copy").replace("s = 0", "sum = 0").replace("s += i", "sum += i")
    first, second = judge.judge([attempt(1, spin), attempt(2, copy)])
    assert first.objective == second.objective
    assert first.evaluate_s > 0 == second.evaluate_s
    assert second.message == "the same program as attempt 1"
    (later,) = judge.judge([attempt(3, spin)])
    assert later.message == "the same program as attempt 1"


def test_copies_of_failures_keep_the_reason(judge):
    text = " undefined\n    return unvisited_nodes[missing]\n"
    _, copy = judge.judge([attempt(1, text), attempt(2, text)])
    assert copy.stage is Stage.RUNTIME
    assert copy.message.startswith("NameError")
    assert copy.message.endswith("(the same program as attempt 1)")


def test_remembered_attempts_are_not_run_again():
    with SandboxPool(PROBLEM, INSTANCES, Limits(seconds=2.0), workers=1) as pool:
        judge = Judge(PROBLEM, INSTANCES, pool)
        (first,) = judge.judge([attempt(1, REPLIES[Stage.SCORED])])
        other = Judge(PROBLEM, INSTANCES, pool)
        other.remember([replace(first, objective=1.25)])
        (again,) = other.judge([attempt(9, REPLIES[Stage.SCORED])])
        assert again.objective == 1.25


class BrokenMachine:
    """A pool on a machine that fails."""

    def map(self, codes):
        for i, _ in enumerate(codes):
            yield i, Verdict(Stage.INFRASTRUCTURE, "out of memory")


def test_the_machines_fault_is_no_verdict():
    judge = Judge(PROBLEM, INSTANCES, BrokenMachine())
    with pytest.raises(SandboxFailed, match="out of memory"):
        list(judge.judge([attempt(1, REPLIES[Stage.SCORED])]))
