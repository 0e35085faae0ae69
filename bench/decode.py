"""Decoding against `model.generate`: the same 32 EoH prompts, sampling and weights, in one run.

    python bench/decode.py [--model NAME] [--quick]

`model.generate` gets a left-padded batch with a key-value cache; it stops at an end-of-turn token
or, with ``--stop-strings``, also at a closing fence, or at the limit. A completion is usable if the
code in it, up to where it ends, compiles and defines the function. The last line is JSON.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import time
from collections.abc import Iterator

from coevo.attempt import Prompt
from coevo.es.directions import Directions
from coevo.llm.base import Completion, Sampling
from coevo.llm.ending import code_end
from coevo.llm.kv import KVCache
from coevo.llm.models import locate
from coevo.llm.transformers import TransformersModel

FUNCTION = "select_next_node"
TASK = """You are given a set of nodes with their coordinates. You need to find the shortest route \
that visits each node once and returns to the start. The route is built step by step: starting \
from the current node, the function `select_next_node` is called again and again to choose the \
next node until all nodes are visited. Help me design a novel heuristic that is different from \
the ones in the literature.

The function has to have exactly this signature and meaning:

```python
import numpy as np

def select_next_node(
    current_node: int,
    destination_node: int,
    unvisited_nodes: np.ndarray,
    distance_matrix: np.ndarray,
) -> int:
    \"\"\"Choose the next node to visit.

    Args:
        current_node: id of the node where the route stands.
        destination_node: id of the node where the route started and has to end.
        unvisited_nodes: ids of the nodes not yet visited, a 1-D integer array, never empty.
        distance_matrix: pairwise distances, shape (n, n).

    Returns:
        One of the ids in unvisited_nodes.
    \"\"\"
```
"""
BEGUN = """```python
import numpy as np

def select_next_node(
    current_node: int,
    destination_node: int,
    unvisited_nodes: np.ndarray,
    distance_matrix: np.ndarray,
) -> int:
    # Idea:"""
SIGNATURE = (
    "def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):\n"
)
PARENTS = (
    (
        "Go to the nearest unvisited node.",
        "    distances = distance_matrix[current_node, unvisited_nodes]\n"
        "    return int(unvisited_nodes[np.argmin(distances)])\n",
    ),
    (
        "Weigh the distance to a node against its distance back to the start.",
        "    ahead = distance_matrix[current_node, unvisited_nodes]\n"
        "    back = distance_matrix[destination_node, unvisited_nodes]\n"
        "    share = len(unvisited_nodes) / len(distance_matrix)\n"
        "    scores = ahead - 0.3 * share * back\n"
        "    return int(unvisited_nodes[np.argmin(scores)])\n",
    ),
    (
        "Look two steps ahead: add the distance from a node to its own nearest neighbour.",
        "    best, best_score = -1, np.inf\n"
        "    for node in unvisited_nodes:\n"
        "        others = unvisited_nodes[unvisited_nodes != node]\n"
        "        onward = distance_matrix[node, others].min() if len(others) else 0.0\n"
        "        score = distance_matrix[current_node, node] + 0.5 * onward\n"
        "        if score < best_score:\n"
        "            best, best_score = int(node), score\n"
        "    return best\n",
    ),
    (
        "Prefer nodes that are far from the centre of what is left, so that none is stranded.",
        "    sub = distance_matrix[np.ix_(unvisited_nodes, unvisited_nodes)]\n"
        "    isolation = sub.mean(axis=1)\n"
        "    near = distance_matrix[current_node, unvisited_nodes]\n"
        "    threshold = np.quantile(near, 0.2)\n"
        "    candidates = np.where(near <= threshold)[0]\n"
        "    scores = near[candidates] - 0.25 * isolation[candidates]\n"
        "    return int(unvisited_nodes[candidates[np.argmin(scores)]])\n",
    ),
)
OPERATORS = {
    "e1": (2, "Please create a new algorithm that has a totally different form from the given "
              "ones."),
    "e2": (2, "Please identify the common idea behind the given algorithms and create a new one "
              "that is motivated by it but has a different form."),
    "m1": (1, "Please create a new algorithm that is a modified version of the given one."),
    "m2": (1, "Please identify the main parameters of the given algorithm and create a new one "
              "with different settings of them."),
}  # fmt: skip


def eoh_prompts(count: int) -> list[Prompt]:
    """Prompts of the four operators by turns, over rotating parents."""
    prompts = []
    for i in range(count):
        parents, instruction = list(OPERATORS.values())[i % 4]
        lines = [TASK, f"I have {parents} existing algorithm{'s' * (parents > 1)} with code:\n"]
        for p in range(parents):
            idea, body = PARENTS[(i // 4 + i + p) % len(PARENTS)]
            lines.append(f"No. {p + 1}: {idea}\n```python\n{SIGNATURE}{body}```\n")
        lines.append(f"{instruction} Answer with one Python code block and nothing else.")
        prompts.append(Prompt("\n".join(lines), begun=BEGUN, function=FUNCTION))
    return prompts


def usable(text: str) -> bool:
    """Whether the reply's code compiles and defines the function."""
    end = code_end(BEGUN, text, FUNCTION)
    code = re.sub(r"```.*", "", (BEGUN + text[:end]).removeprefix("```python\n"), flags=re.S)
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError):
        return False
    return any(isinstance(node, ast.FunctionDef) and node.name == FUNCTION for node in tree.body)


def baseline(
    ours: TransformersModel, prompts: list[Prompt], sampling: Sampling, stop_strings: bool
) -> tuple[list[str], int, float, float]:
    """Texts, new tokens, clock and processor seconds of `model.generate` on the whole batch."""
    import torch

    tokenizer, model = ours.tokenizer, ours.model
    torch.manual_seed(0)
    started, cpu = time.perf_counter(), time.process_time()
    ids = [ours.encode(prompt) for prompt in prompts]
    tokenizer.padding_side = "left"
    inputs = tokenizer.pad({"input_ids": ids}, return_tensors="pt")
    with torch.inference_mode():
        out = model.generate(
            **inputs,
            do_sample=True,
            temperature=sampling.temperature,
            top_p=sampling.top_p,
            top_k=0,
            repetition_penalty=1.0,
            max_new_tokens=sampling.max_new_tokens,
            **({"stop_strings": ["\n```"], "tokenizer": tokenizer} if stop_strings else {}),
        )
    new = out[:, inputs["input_ids"].shape[1] :]
    texts = tokenizer.batch_decode(new, skip_special_tokens=True)
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    pad = tokenizer.pad_token_id
    return texts, int((new != pad).sum()), seconds, cpu


def forward_seconds(model: TransformersModel, rows: int, length: int) -> float:
    """Median seconds of one decode step of ``rows`` sequences of ``length`` tokens."""
    import torch

    forward = model.forward
    cache = KVCache(forward.shape, rows, length + 1, forward.dtype)
    tokens, positions = torch.full((rows,), 100), torch.full((rows,), length)
    seconds = []
    with torch.inference_mode():
        for _ in range(7):
            started = time.perf_counter()
            forward.step(tokens, positions, cache)
            seconds.append(time.perf_counter() - started)
    return sorted(seconds)[len(seconds) // 2]


def rate(texts: list[str], tokens: int, seconds: float, cpu: float) -> dict[str, float]:
    good = sum(map(usable, texts))
    return {
        "seconds": round(seconds, 2),
        "cpu_seconds": round(cpu, 2),  # steadier than the clock on a busy machine
        "tokens": tokens,
        "tokens_per_s": round(tokens / seconds, 2),
        "usable": good,
        "usable_per_s": round(good / seconds, 4),
    }


def timed(
    model: TransformersModel,
    prompts: list[Prompt],
    sampling: Sampling,
    directions: Directions | None = None,
) -> tuple[list[Completion], float, float]:
    """Completions, wall-clock seconds and processor seconds."""
    started = time.perf_counter()
    cpu = time.process_time()
    done = model.generate(prompts, sampling, range(len(prompts)), directions)
    return done, time.perf_counter() - started, time.process_time() - cpu


def report(args: argparse.Namespace) -> Iterator[tuple[str, object]]:
    count, limit = (8, 96) if args.quick else (args.prompts, args.tokens)
    sampling = Sampling(max_new_tokens=limit)
    prompts = eoh_prompts(count)
    path = locate(args.model)
    model = TransformersModel(path, name=args.model, batch=32)
    model.generate(eoh_prompts(1), Sampling(max_new_tokens=1), [0])  # pack weights, warm up
    yield "prompt_tokens", sum(len(model.encode(prompt)) for prompt in prompts)
    done, seconds, cpu = timed(model, prompts, sampling)
    ours = rate([c.text for c in done], sum(c.tokens for c in done), seconds, cpu)
    yield "ours", ours
    yield "ours_finish", {f: sum(c.finish == f for c in done) for f in ("stop", "eos", "length")}
    _, prefill, _ = timed(model, prompts, Sampling(max_new_tokens=1))
    yield "prefill_share", round(prefill / seconds, 3)
    step = forward_seconds(model, count, 700)
    yield "forward_only_tokens_per_s", round(count / step, 1)
    if args.directions:
        directions = Directions("lowrank", tuple(range(count)), 1e-3, 1)
        done, seconds, cpu = timed(model, prompts, sampling, directions)
        yield "lowrank", rate([c.text for c in done], sum(c.tokens for c in done), seconds, cpu)
    theirs = rate(*baseline(model, prompts, sampling, args.stop_strings))
    yield "model_generate", theirs
    yield "tokens_per_s_ratio", round(ours["tokens_per_s"] / theirs["tokens_per_s"], 3)
    if theirs["usable"]:
        yield "usable_per_s_ratio", round(ours["usable_per_s"] / theirs["usable_per_s"], 3)
    else:
        yield "usable_per_s_ratio", None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="qwen2.5-coder-0.5b")
    parser.add_argument("--prompts", type=int, default=32)
    parser.add_argument("--tokens", type=int, default=320, help="new tokens at most")
    parser.add_argument("--quick", action="store_true", help="a small run, under a minute")
    parser.add_argument("--directions", action="store_true", help="also under rank-1 directions")
    parser.add_argument("--stop-strings", action="store_true", help="for model.generate")
    figures: dict[str, object] = {}
    for name, value in report(parser.parse_args()):
        print(f"{name}: {value}", flush=True)
        figures[name] = value
    last = ("tokens_per_s_ratio", "usable_per_s_ratio")
    print(json.dumps({name: figures[name] for name in last} | figures))


if __name__ == "__main__":
    main()
