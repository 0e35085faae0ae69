"""One small problem and one pool for all tests of the sandbox."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from coevo.problems.base import Instances
from coevo.problems.registry import load
from coevo.sandbox.limits import Limits
from coevo.sandbox.pool import SandboxPool

NEAREST = load("tsp").baselines["nearest neighbour"]


@pytest.fixture(scope="session")
def instances() -> Instances:
    return load("tsp").instances("train", 10, 5, count=2)


@pytest.fixture(scope="session")
def pool(instances: Instances) -> Iterator[SandboxPool]:
    with SandboxPool("tsp", instances, Limits(seconds=20), workers=2) as pool:
        yield pool
