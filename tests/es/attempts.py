"""Attempts and weights that the tests of the evolution strategy share."""

from __future__ import annotations

from coevo.attempt import Attempt, Prompt, Proposal, Stage


def attempt(
    number: int,
    objective: float | None = None,
    *,
    stage: Stage | None = None,
    operator: str = "m1",
    parents: tuple[int, ...] = (),
    direction: int | None = None,
) -> Attempt:
    """A scored attempt if it has an objective, else one that raised, unless ``stage`` says."""
    if stage is None:
        stage = Stage.RUNTIME if objective is None else Stage.SCORED
    return Attempt(
        number,
        1,
        Proposal(operator, parents, Prompt("improve it")),
        direction=direction,
        stage=stage,
        objective=objective,
    )
