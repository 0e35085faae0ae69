"""The decode loop's own parts: replies, their text and their end."""

from __future__ import annotations

from pathlib import Path

import pytest
from transformers import AutoTokenizer

from coevo.llm.base import Completion, Sampling
from coevo.llm.decode import Reply, Stream
from tests.llm import tiny

EOS = 258


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> object:
    path: Path = tiny.make(tmp_path_factory.mktemp("tiny"))
    return AutoTokenizer.from_pretrained(path)


def write(tokenizer: object, text: str, begun: str = "", limit: int = 999) -> Completion | None:
    """Feed a text's tokens (one a byte) to a reply until it ends."""
    prompt = tokenizer("Go\n" + begun)["input_ids"]
    stream = Stream(tokenizer.backend_tokenizer, prompt[-1])
    reply = Reply(0, prompt, 1, begun, "f", stream)
    assert reply.position == len(prompt) - 1
    for count, token in enumerate(tokenizer(text)["input_ids"], 1):
        completion = reply.take(token, Sampling(max_new_tokens=limit), frozenset({EOS}))
        assert reply.last == token
        assert reply.position == len(prompt) - 1 + count
        if completion is not None:
            return completion
    return None


def test_it_ends_at_the_closing_fence(tokenizer: object) -> None:
    done = write(tokenizer, " x\n    return 1\n```\nThis works", "```python\ndef f():\n    # Idea:")
    assert done is not None
    assert (done.text, done.finish) == (" x\n    return 1\n```", "stop")
    assert done.tokens == len(done.text)


def test_a_statement_after_the_function_is_cut_off(tokenizer: object) -> None:
    done = write(tokenizer, "    return 1\n\nprint(f())\n", "```python\ndef f():\n")
    assert done is not None
    assert (done.text, done.finish) == ("    return 1", "stop")
    assert done.tokens == len("    return 1\n\nprint(")


def test_it_ends_at_the_end_of_the_turn(tokenizer: object) -> None:
    done = write(tokenizer, "I cannot.<|im_end|>more")
    assert done == Completion("I cannot.", 10, "eos", 0.0)


def test_it_ends_at_the_limit(tokenizer: object) -> None:
    assert write(tokenizer, "abcdef", limit=4) == Completion("abcd", 4, "length", 0.0)


def test_characters_of_several_tokens_come_whole(tokenizer: object) -> None:
    done = write(tokenizer, "aé→😀b<|im_end|>")
    assert done is not None
    assert done.text == "aé→😀b"
    assert done.tokens == 1 + 2 + 3 + 4 + 1 + 1
    cut = write(tokenizer, "aé→😀b", limit=8)
    assert cut is not None
    assert cut.text == "aé→"


def test_an_empty_prompt_is_refused(tokenizer: object) -> None:
    with pytest.raises(ValueError, match="no tokens"):
        Reply(0, [], 1, "", "f", Stream(tokenizer.backend_tokenizer, 0))
