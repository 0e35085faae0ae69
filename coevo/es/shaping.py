"""From attempts to rewards: what each direction's attempt is worth to the weights.

A shaping is a pure function of the attempts of a step, of the population that they were bred from
(attempts by number) and of the problem's sense. It returns float64[len(attempts)], higher is
better, centred within each operator so that an operator's difficulty is no reward. Attempts that
failed by the machine's fault get NaN: they say nothing of the model. Equal attempts get exactly
equal rewards, and a group of equals exactly zeros. A new shaping is one function in `SHAPINGS`.

Rank shapings have variance 1 in a group without ties, like z-scores; ties make it smaller, and so
the step: its size says how much of the batch could be told apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal

import numpy as np

from coevo.attempt import Attempt, Prompt, Proposal, Stage

Sense = Literal["min", "max"]
Shaping = Callable[[Sequence[Attempt], Mapping[int, Attempt], Sense], np.ndarray]

DECIMALS = 5  # objectives that agree to so many are equal, as they are to the search
LARGEST = 1e100  # objectives beyond it count as this, so that squares stay finite


def example() -> tuple[list[Attempt], dict[int, Attempt]]:
    """A batch and a population for the examples below, of a problem to minimise.

    The parent's objective is 7.0. Of its children two are scored, 7.1 and 6.9, the third raises an
    exception and the last holds no function.
    """

    def attempt(number: int, stage: Stage, objective: float | None = None) -> Attempt:
        proposal = Proposal("m1", (1,), Prompt("modify it"))
        return Attempt(number, 1, proposal, stage=stage, objective=objective)

    batch = [
        attempt(2, Stage.SCORED, 7.1),
        attempt(3, Stage.SCORED, 6.9),
        attempt(4, Stage.RUNTIME),
        attempt(5, Stage.PARSE),
    ]
    return batch, {1: attempt(1, Stage.SCORED, 7.0)}


def staged(
    attempts: Sequence[Attempt], population: Mapping[int, Attempt], sense: Sense
) -> np.ndarray:
    """Ranks by stage first, by objective among the scored: most of the signal is in how code fails.

    >>> staged(*example(), "min").round(2)
    array([ 0.45,  1.34, -0.45, -1.34])
    """
    order = [(a.stage.rank, _reward(a, sense) if a.scored else 0.0) for a in attempts]
    return _within_operators(attempts, lambda members: _ranked([order[i] for i in members]))


def centred_ranks(
    attempts: Sequence[Attempt], population: Mapping[int, Attempt], sense: Sense
) -> np.ndarray:
    """Ranks by objective; whatever is not scored ties below the worst that is.

    >>> centred_ranks(*example(), "min").round(2)
    array([ 0.45,  1.34, -0.89, -0.89])
    """
    order = [(a.scored, _reward(a, sense) if a.scored else 0.0) for a in attempts]
    return _within_operators(attempts, lambda members: _ranked([order[i] for i in members]))


def zscore(
    attempts: Sequence[Attempt], population: Mapping[int, Attempt], sense: Sense
) -> np.ndarray:
    """Standardised objectives; whatever is not scored lies one deviation below the worst that is.

    >>> zscore(*example(), "min").round(2)
    array([ 0.  ,  1.63, -0.82, -0.82])
    """

    def shape(members: list[int]) -> np.ndarray:
        return standardised(_with_penalty([attempts[i] for i in members], sense))

    return _within_operators(attempts, shape)


def paper(
    attempts: Sequence[Attempt], population: Mapping[int, Attempt], sense: Sense
) -> np.ndarray:
    """The published rewards, z-scored; kept for comparison. Here invalid can beat valid.

    An attempt with a scored parent P earns its gain on P (the best, if there are several), as a
    cost C: P - C; if it is invalid or worse than the population's worst W, P - min(W, P + 1).
    Attempts without parents earn as in `zscore`, their operator's batch being all of them.

    >>> paper(*example(), "min").round(2)
    array([-0.58,  1.73, -0.58, -0.58])
    """
    costs = {n: -_reward(a, sense) for n, a in population.items() if a.scored}
    worst = max(costs.values(), default=np.inf)

    def gain(attempt: Attempt, parent: float) -> float:
        cost = -_reward(attempt, sense) if attempt.scored else np.inf
        return parent - (cost if cost <= worst else min(worst, parent + 1.0))

    def shape(members: list[int]) -> np.ndarray:
        batch = [attempts[i] for i in members]
        parents = [[costs[p] for p in a.parents if p in costs] for a in batch]
        if not all(parents):
            return standardised(_with_penalty(batch, sense))
        return standardised(
            np.array([gain(a, min(known)) for a, known in zip(batch, parents, strict=True)])
        )

    return _within_operators(attempts, shape)


SHAPINGS: dict[str, Shaping] = {
    "staged": staged,
    "centred-ranks": centred_ranks,
    "zscore": zscore,
    "paper": paper,
}


def standardised(rewards: np.ndarray) -> np.ndarray:
    """Mean 0, variance 1; zeros if all are equal, which is asked exactly and not of the variance.

    In floating point the mean of equal numbers need not equal them, and a deviation of one ulp
    divided by a deviation of one ulp is a full-size step in a random direction.

    >>> standardised(np.array([-7.12345] * 10))
    array([0., 0., 0., 0., 0., 0., 0., 0., 0., 0.])
    """
    rewards = np.asarray(rewards, np.float64)
    if rewards.size == 0 or (rewards == rewards[0]).all():
        return np.zeros(rewards.shape)
    return (rewards - rewards.mean()) / rewards.std()


def _reward(attempt: Attempt, sense: Sense) -> float:
    if attempt.objective is None:
        raise ValueError(f"attempt {attempt.number} is scored but has no objective")
    objective = min(max(round(attempt.objective, DECIMALS), -LARGEST), LARGEST)
    return -objective if sense == "min" else objective


def _with_penalty(batch: Sequence[Attempt], sense: Sense) -> np.ndarray:
    """Rewards, those of invalid attempts one deviation below the worst; zeros if none is scored."""
    valid = np.array([_reward(a, sense) for a in batch if a.scored])
    if not valid.size:
        return np.zeros(len(batch))
    gap = 0.0 if (valid == valid[0]).all() else valid.std()
    if gap <= 1e-8:
        gap = max(0.01 * abs(valid.mean()), 1.0)
    invalid = valid.min() - gap
    return np.array([_reward(a, sense) if a.scored else invalid for a in batch])


def _ranked(order: Sequence[tuple[float, float]]) -> np.ndarray:
    """Tie-averaged ranks, centred on 0 exactly, with variance 1 if there are no ties."""
    count = len(order)
    if count < 2:
        return np.zeros(count)
    _, level, sizes = np.unique(
        np.array(order, np.float64), axis=0, return_inverse=True, return_counts=True
    )
    ends = np.cumsum(sizes)
    doubled = 2 * ends - sizes - count  # twice the centred average rank: an exact integer
    return doubled[level.reshape(-1)] / np.sqrt((count**2 - 1) / 3)


def _within_operators(
    attempts: Sequence[Attempt], shape: Callable[[list[int]], np.ndarray]
) -> np.ndarray:
    rewards = np.full(len(attempts), np.nan)
    for members in _groups(attempts):
        rewards[members] = shape(members)
    return rewards


def _groups(attempts: Sequence[Attempt]) -> Iterator[list[int]]:
    """Positions of each operator's attempts, without infrastructure failures."""
    groups: dict[str, list[int]] = {}
    for i, attempt in enumerate(attempts):
        if attempt.stage is not Stage.INFRASTRUCTURE:
            groups.setdefault(attempt.operator, []).append(i)
    yield from groups.values()
