"""What the sandbox says of a candidate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from coevo.attempt import Stage


@dataclass(frozen=True)
class Verdict:
    """The stage reached inside the sandbox; with arrays, and only then, it is ready to be scored.

    ``arrays`` have the exact names, dtypes and shapes that the problem declared; their contents are
    the candidate's and untrusted. A `Verdict` with arrays has stage ``scored``, provisionally.
    """

    stage: Stage
    message: str = ""  # one line, at most 300 characters, printable
    arrays: Mapping[str, np.ndarray] | None = field(default=None, repr=False)
    output: str = ""  # captured stdout and stderr, capped
    seconds: float = 0.0  # wall-clock time in the sandbox
    counted: Mapping[str, int] = field(default_factory=dict)  # uses of old NumPy names
