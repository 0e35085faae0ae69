from __future__ import annotations

import pytest

from coevo.problems.base import Problem
from coevo.problems.registry import load


@pytest.fixture(scope="session")
def problem() -> Problem:
    return load("tsp")
