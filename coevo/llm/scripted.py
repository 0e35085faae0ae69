"""A backend that is no model: it replays recorded replies from a file, for tests and demos."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from coevo.attempt import Prompt
from coevo.error import UsageError
from coevo.es.directions import Directions
from coevo.llm.base import Completion, OnCompletion, Sampling


class ScriptedModel:
    """Replays replies from a JSON-lines file, each line ``{"reply": "..."}``.

    Which one answers depends on the completion's seed alone, so a run with it is reproducible and
    resumable like one with a real model. Replies continue ``Prompt.begun``, as recorded.
    """

    continues = True
    order_free = True
    notice = "no language model: replies are replayed from a file"

    def __init__(self, path: Path) -> None:
        self.name = f"scripted ({path.name})"
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(
                f"--llm scripted needs --model FILE.jsonl with recorded replies; {path}: "
                f"{getattr(error, 'strerror', None) or 'not UTF-8 text'}"
            ) from None
        self._replies = [_reply(path, i, line) for i, line in enumerate(lines, 1) if line.strip()]
        if not self._replies:
            raise UsageError(f'{path} is empty; write lines like {{"reply": "..."}}')

    def generate(
        self,
        prompts: Sequence[Prompt],
        sampling: Sampling,
        seeds: Sequence[int],
        directions: Directions | None = None,
        on_completion: OnCompletion | None = None,
    ) -> list[Completion]:
        completions = []
        for i, seed in enumerate(seeds):
            text = self._replies[seed % len(self._replies)]
            completions.append(Completion(text, len(text.split()), "stop", 0.0))
            if on_completion:
                on_completion(i, completions[-1])
        return completions


def _reply(path: Path, number: int, line: str) -> str:
    try:
        reply = json.loads(line)["reply"]
    except (ValueError, TypeError, KeyError):
        reply = None
    if not isinstance(reply, str):
        raise UsageError(f'{path}, line {number}: expected a line like {{"reply": "..."}}')
    return reply
