"""The pool: verdicts, order, restarts, and that nothing outlives it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from coevo.attempt import Stage
from coevo.problems.base import Instances
from coevo.problems.registry import load
from coevo.sandbox import confinement
from coevo.sandbox import pool as pool_module
from coevo.sandbox.limits import Limits
from coevo.sandbox.pool import SandboxError, SandboxPool
from coevo.sandbox.walls import Wall, environment

from .conftest import NEAREST

HEAD = "def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):\n"
SLOW = HEAD + "    import time\n    time.sleep(0.2)\n    return unvisited_nodes[0]\n"
ENDLESS = HEAD + "    while True:\n        pass\n"


def within(seconds: float, condition: Callable[[], object]) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return bool(condition())


def alive(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def descendants(pid: int) -> set[int]:
    parents = {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            stat = Path(f"/proc/{entry}/stat").read_text()
        except OSError:
            continue
        parents[int(entry)] = int(stat.rpartition(")")[2].split()[1])
    found: set[int] = set()
    fresh = {pid}
    while fresh:
        fresh = {child for child, parent in parents.items() if parent in fresh}
        found |= fresh
    return found


def test_baselines_score_as_they_do_outside(pool: SandboxPool, instances: Instances) -> None:
    problem = load("tsp")
    for code in problem.baselines.values():
        names: dict[str, object] = {}
        exec(code, names)
        outside = problem.rollout(names["select_next_node"], instances)  # type: ignore[arg-type]
        inside = pool.evaluate(code)
        assert inside.stage is Stage.SCORED
        assert inside.arrays is not None
        np.testing.assert_array_equal(inside.arrays["tours"], outside["tours"])
        assert inside.arrays["tours"].flags.writeable
        assert inside.seconds > 0


@pytest.mark.parametrize(
    "parameters", ["a, b, c, d", "a, *rest", "*given", "a, b, c, d, extra=1", "d, c, b, a, /"]
)
def test_arguments_are_passed_by_position(pool: SandboxPool, parameters: str) -> None:
    code = f"def select_next_node({parameters}):\n    return max(1, 1)\n"
    assert pool.evaluate(code).stage in (Stage.SCORED, Stage.INFEASIBLE)


def test_modules_that_models_forget_to_import_are_there(pool: SandboxPool) -> None:
    code = HEAD + (
        "    scores = np.sqrt(distance_matrix[current_node, unvisited_nodes])\n"
        "    assert numpy is np and math.pi > 3 and random.random() >= 0\n"
        "    return unvisited_nodes[np.argmin(scores)]\n"
    )
    assert pool.evaluate(code).stage is Stage.SCORED


def test_libraries_can_be_imported(pool: SandboxPool) -> None:
    code = HEAD + (
        "    import networkx as nx\n"
        "    from scipy.spatial.distance import cdist\n"
        "    from scipy.stats import rankdata\n"
        "    from scipy.ndimage import gaussian_filter\n"
        "    from scipy.cluster.hierarchy import linkage\n"
        "    assert len(nx.path_graph(3)) == 3\n"
        "    near = rankdata(distance_matrix[current_node][unvisited_nodes])\n"
        "    return unvisited_nodes[np.argmin(near)]\n"
    )
    verdict = pool.evaluate(code)
    assert verdict.stage is Stage.SCORED, verdict.message


@pytest.mark.parametrize("options", ["", "(cache=True)", "(parallel=True)", "(fastmath=True)"])
def test_numba_works(pool: SandboxPool, options: str) -> None:
    code = (
        f"import numba\n\n\n@numba.njit{options}\ndef nearest(row, nodes):\n"
        "    total = 0.0\n    for i in numba.prange(len(nodes)):\n        total += row[nodes[i]]\n"
        "    return nodes[np.argmin(row[nodes])] if total >= 0 else -1\n\n\n"
        + HEAD
        + "    return nearest(distance_matrix[current_node], unvisited_nodes)\n"
    )
    verdict = pool.evaluate(code)
    assert verdict.stage is Stage.SCORED, verdict.message


def test_messages_name_the_line(pool: SandboxPool) -> None:
    verdict = pool.evaluate(HEAD + "    x = 1\n    return x / 0\n")
    assert (verdict.stage, verdict.message) == (
        Stage.RUNTIME,
        "ZeroDivisionError: division by zero (line 3)",
    )


def test_output_is_captured_and_capped(instances: Instances) -> None:
    limits = Limits(output_bytes=1000)
    with SandboxPool("tsp", instances, limits, workers=1) as pool:
        verdict = pool.evaluate(HEAD + "    print('word ' * 100)\n    return unvisited_nodes[0]\n")
    assert verdict.stage is Stage.SCORED
    assert verdict.output.startswith("word word")
    assert len(verdict.output) == 1000


def test_a_long_program_is_refused(pool: SandboxPool) -> None:
    verdict = pool.evaluate("#" * (pool.limits.code_bytes + 1))
    assert verdict.stage is Stage.COMPILE


def test_replies_may_be_longer_than_a_pipe() -> None:
    problem = load("tsp")
    many = problem.instances("val", 15, 5, count=2000)
    with SandboxPool(problem, many, workers=1) as pool:
        verdict = pool.evaluate(NEAREST)
    assert verdict.arrays is not None
    assert verdict.arrays["tours"].nbytes == 2000 * 15 * 8
    assert problem.score(many, verdict.arrays) > 2


def test_lone_surrogates_do_not_break_the_pool(pool: SandboxPool) -> None:
    assert pool.evaluate("x = '\ud800'").stage in (Stage.SIGNATURE, Stage.COMPILE)


def test_candidates_leave_nothing_behind(pool: SandboxPool) -> None:
    mark = "np.mark = random.mark = 1\n"
    look = HEAD + "    assert not hasattr(np, 'mark')\n    return unvisited_nodes[0]\n"
    assert pool.evaluate(mark + NEAREST).stage is Stage.SCORED
    assert pool.evaluate(look).stage is Stage.SCORED


def test_map_yields_every_program_once_and_reads_ahead_by_little(pool: SandboxPool) -> None:
    read = []

    def codes() -> Iterator[str]:
        for i in range(30):
            read.append(i)
            yield NEAREST if i % 2 else "x ="

    found: dict[int, Stage] = {}
    for position, verdict in pool.map(codes()):
        assert position not in found
        found[position] = verdict.stage
        assert len(read) - len(found) <= 4 * pool.workers + 1
    assert found == {i: Stage.SCORED if i % 2 else Stage.COMPILE for i in range(30)}


def test_map_yields_as_they_end(pool: SandboxPool) -> None:
    order = [position for position, _ in pool.map([SLOW, NEAREST, NEAREST])]
    assert order[-1] == 0


def test_candidates_run_side_by_side(instances: Instances) -> None:
    sleepy = "import time\ntime.sleep(0.5)\n" + NEAREST
    with SandboxPool("tsp", instances, workers=4) as pool:
        pool.evaluate(NEAREST)
        start = time.monotonic()
        assert all(verdict.stage is Stage.SCORED for _, verdict in pool.map([sleepy] * 4))
        assert time.monotonic() - start < 1.9


def test_processor_time_is_limited_apart_from_the_clock(instances: Instances) -> None:
    with SandboxPool("tsp", instances, Limits(seconds=30, cpu_seconds=1), workers=1) as pool:
        verdict = pool.evaluate(ENDLESS)
    assert verdict.stage is Stage.TIMEOUT
    assert "processor time" in verdict.message


def test_zygote_killed_in_mid_candidate(instances: Instances) -> None:
    with SandboxPool("tsp", instances, workers=2) as pool:
        futures = [pool.submit(SLOW) for _ in range(4)]
        time.sleep(0.5)
        first = pool.zygote_pid
        assert first is not None
        below = descendants(first)
        os.kill(first, signal.SIGKILL)
        assert [future.result(60).stage for future in futures] == [Stage.SCORED] * 4
        assert pool.zygote_pid != first
        assert within(2, lambda: not any(map(alive, below)))


def test_a_zygote_that_dies_again_is_reported(instances: Instances) -> None:
    with SandboxPool("tsp", instances, workers=1) as pool:
        future = pool.submit(ENDLESS)
        killed: list[int] = []
        for _ in range(2):
            assert within(60, lambda: _has_candidate(pool, killed))
            assert pool.zygote_pid is not None
            killed.append(pool.zygote_pid)
            os.kill(killed[-1], signal.SIGKILL)
        verdict = future.result(60)
        assert verdict.stage is Stage.INFRASTRUCTURE
        assert verdict.message
        assert pool.evaluate(NEAREST).stage is Stage.SCORED


def _has_candidate(pool: SandboxPool, killed: list[int]) -> bool:
    """Whether a candidate runs in a zygote that was not killed: its two halves have a child."""
    pid = pool.zygote_pid
    return pid is not None and pid not in killed and len(descendants(pid)) >= 2


def test_two_pools_at_once(pool: SandboxPool, instances: Instances) -> None:
    with SandboxPool("tsp", instances, workers=2) as other:
        codes = (NEAREST, "x =", SLOW)
        both = [p.submit(code) for code in codes for p in (pool, other)]
        stages = [future.result(60).stage for future in both]
    assert stages[::2] == stages[1::2]
    assert pool.evaluate(NEAREST).stage is Stage.SCORED


def test_closing_ends_what_runs(instances: Instances) -> None:
    pool = SandboxPool("tsp", instances, workers=1)
    pid = pool.zygote_pid
    assert pid is not None
    running, waiting = pool.submit(ENDLESS), pool.submit(NEAREST)
    assert within(20, lambda: len(descendants(pid)) >= 2)
    below = descendants(pid) | {pid}
    start = time.monotonic()
    pool.close()
    pool.close()
    assert time.monotonic() - start < 5
    assert within(1, lambda: not any(map(alive, below)))
    with pytest.raises(SandboxError, match="closed"):
        running.result(1)
    assert waiting.cancelled()
    with pytest.raises(SandboxError, match="closed"):
        pool.submit(NEAREST)


def script(body: str) -> list[str]:
    """A command that runs ``body`` with this module's programs and a way to make a pool."""
    prelude = (
        f"NEAREST, ENDLESS, HEAD = {NEAREST!r}, {ENDLESS!r}, {HEAD!r}\n"
        "def make_pool(**settings):\n"
        "    from coevo.problems.registry import load\n"
        "    from coevo.sandbox.pool import SandboxPool\n"
        "    instances = load('tsp').instances('train', 10, 5, count=2)\n"
        "    return SandboxPool('tsp', instances, workers=2, **settings)\n"
    )
    return [sys.executable, "-c", prelude + textwrap.dedent(body)]


def surroundings() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": environment()["PYTHONPATH"]}


def printed_by(body: str) -> str:
    done = subprocess.run(script(body), capture_output=True, text=True, env=surroundings())
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_killed_parent_leaves_no_process() -> None:
    command = script("""
        import time
        pool = make_pool()
        pool.submit(ENDLESS), pool.submit(ENDLESS)
        time.sleep(0.5)
        print("running", flush=True)
        time.sleep(60)
    """)
    parent = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=surroundings())
    assert parent.stdout is not None
    with parent.stdout:
        assert parent.stdout.readline() == "running\n"
        below = descendants(parent.pid)
        assert len(below) >= 4  # two halves of the zygote, two candidates
        parent.kill()
        parent.wait()
    assert within(3, lambda: not any(map(alive, below)))


@pytest.mark.skipif(
    any(path.startswith("/tmp/") for path in environment()["PYTHONPATH"].split(os.pathsep)),
    reason="Python itself lives in /tmp",
)
def test_a_full_tmp_does_not_matter() -> None:
    """In a mount namespace where /tmp has no byte left."""
    output = printed_by("""
        import os
        from coevo.sandbox import kernel, namespaces
        namespaces.enter(kernel.CLONE_NEWUSER | kernel.CLONE_NEWNS)
        kernel.mount("full", "/tmp", "tmpfs", 0, "size=4k")
        with open("/tmp/fill", "wb", buffering=0) as file:
            file.write(bytes(4096))
        try:
            os.write(os.open("/tmp/more", os.O_CREAT | os.O_WRONLY), b"x")
        except OSError:
            print("full")
        with make_pool() as pool:
            print([verdict.stage.value for _, verdict in pool.map([NEAREST] * 3)])
    """)
    assert output == "full\n['scored', 'scored', 'scored']\n"


def test_an_ordinary_user_is_enough() -> None:
    """As user 1000 without capabilities, whom the kernel maps to the user of the test."""
    output = printed_by("""
        import os
        from coevo.sandbox import kernel
        uid, gid = os.geteuid(), os.getegid()
        kernel.unshare(kernel.CLONE_NEWUSER)
        maps = {"setgroups": "deny", "uid_map": f"1000 {uid} 1", "gid_map": f"1000 {gid} 1"}
        for name, text in maps.items():
            with open("/proc/self/" + name, "w") as file:
                file.write(text)
        kernel.drop_capabilities()
        look = HEAD + (
            "    import os\\n"
            "    print(os.getuid(), os.listdir('.'), os.path.exists('/etc/passwd'))\\n"
            "    return unvisited_nodes[0]\\n"
        )
        with make_pool(checks=False) as pool:
            print([verdict.stage.value for _, verdict in pool.map([NEAREST] * 3)])
            print(os.getuid(), pool.evaluate(look).output.splitlines()[0])
    """)
    assert output == "['scored', 'scored', 'scored']\n1000 1000 [] False\n"


def missing(*names: str) -> tuple[Wall, ...]:
    return tuple(
        Wall(name, name not in names, "as a test has it", "mend it") for name in confinement.WALLS
    )


def test_a_missing_wall_is_refused(instances: Instances, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "walls", lambda: missing("landlock"))
    with pytest.raises(SandboxError, match=r"landlock.*mend it.*--unsafe-sandbox") as caught:
        SandboxPool("tsp", instances)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "names", [confinement.WALLS[:1], confinement.WALLS[1:3], confinement.WALLS]
)
def test_unsafe_runs_with_the_walls_there_are(
    instances: Instances, monkeypatch: pytest.MonkeyPatch, names: tuple[str, ...]
) -> None:
    monkeypatch.setattr(pool_module, "walls", lambda: missing(*names))
    with SandboxPool("tsp", instances, Limits(seconds=1), workers=1, unsafe=True) as pool:
        stages = [pool.evaluate(code).stage for code in (NEAREST, ENDLESS, "import os", NEAREST)]
    assert stages == [Stage.SCORED, Stage.TIMEOUT, Stage.UNSAFE, Stage.SCORED]


def test_workers_must_be_positive(instances: Instances) -> None:
    with pytest.raises(ValueError, match="at least 1 worker"):
        SandboxPool("tsp", instances, workers=0)
