"""A stand-in for model, sandbox and score: an outcome drawn from a stream, keyed by the attempt."""

from __future__ import annotations

from collections.abc import Sequence

from coevo.attempt import Attempt, Proposal, Stage
from coevo.search.base import Search
from coevo.streams import stream

CODE = """import numpy as np


def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    # Idea: number {number}
    back = distance_matrix[destination_node, unvisited_nodes]
    score = distance_matrix[current_node, unvisited_nodes] - 0.{number} * back
    return unvisited_nodes[np.argmin(score)]
"""


def evaluated(proposals: Sequence[Proposal], start: int, valid: float = 0.5) -> list[Attempt]:
    """Attempts ``start`` + 1 …, a share of them scored; objectives repeat now and then."""
    attempts = []
    for number, proposal in enumerate(proposals, start + 1):
        rng = stream(99, number, proposal.prompt.user, proposal.prompt.begun)
        scored = rng.random() < valid
        attempts.append(
            Attempt(
                number=number,
                generation=0,
                proposal=proposal,
                code=CODE.format(number=number) if scored else "",
                idea=f"number {number}" if scored else "",
                stage=Stage.SCORED if scored else Stage.RUNTIME,
                objective=6.5 + int(rng.integers(200)) / 100 if scored else None,
            )
        )
    return attempts


def run(search: Search, budget: int, start: int = 0, valid: float = 0.5) -> list[Attempt]:
    """Ask and tell until the budget is spent."""
    attempts: list[Attempt] = []
    while start + len(attempts) < budget:
        proposals = search.ask(budget - start - len(attempts))
        batch = evaluated(proposals, start + len(attempts), valid)
        search.tell(batch)
        attempts += batch
    return attempts
