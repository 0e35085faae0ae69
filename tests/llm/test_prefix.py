from __future__ import annotations

import random

from coevo.llm.prefix import Node, common_length, shared_prefixes


def test_nested_prefixes_make_a_trie() -> None:
    a, b, c = list(range(100)), list(range(100, 140)), list(range(200, 240))
    prompts = [[*a, *b, 1], [*a, *b, 2], [*a, *c, 3], [*a, *c, 4, 5], [*a, 9]]
    (root,) = shared_prefixes(prompts)
    assert (root.start, root.end, sorted(root.prompts)) == (0, 100, [0, 1, 2, 3, 4])
    assert [(n.start, n.end, sorted(n.prompts)) for n in root.children] == [
        (100, 140, [0, 1]),
        (100, 140, [2, 3]),
    ]


def test_equal_prompts_keep_their_last_token() -> None:
    (root,) = shared_prefixes([list(range(50))] * 3)
    assert (root.start, root.end, root.children) == (0, 49, [])


def test_what_nobody_shares_makes_no_node() -> None:
    assert shared_prefixes([[1, 2, 3], list(range(40)), list(range(5, 60))]) == []
    assert shared_prefixes([list(range(40))]) == []
    assert shared_prefixes([]) == []


def test_nodes_are_true_prefixes_of_their_prompts() -> None:
    rng = random.Random(0)
    for _ in range(200):
        prompts = [[rng.randrange(2) for _ in range(rng.randrange(1, 30))] for _ in range(12)]

        def check(node: Node, prompts: list[list[int]] = prompts) -> None:
            heads = {tuple(prompts[i][: node.end]) for i in node.prompts}
            assert len(heads) == 1
            assert len(node.prompts) > 1
            assert node.start < node.end < min(len(prompts[i]) for i in node.prompts)
            for child in node.children:
                assert child.start == node.end
                assert set(child.prompts) <= set(node.prompts)
                check(child)

        for node in shared_prefixes(prompts, min_shared=2):
            check(node)


def test_common_length() -> None:
    assert common_length([1, 2, 3], [1, 2, 4, 5]) == 2
    assert common_length([], [1]) == 0
