"""Random streams: every stream comes from the run's seed and a name, and from nothing else.

Two streams with different names are independent; a stream does not depend on how much another
one was used, on threads or on the order of calls. That is what lets a killed run resume to the
same end.
"""

from __future__ import annotations

import hashlib

import numpy as np


def stream_seed(seed: int, *names: object) -> int:
    """Derive a 63-bit seed from the run's ``seed`` and a path of names.

    >>> stream_seed(0, "completion", 7) == stream_seed(0, "completion", 7)
    True
    >>> stream_seed(0, "completion", 7) == stream_seed(0, "completion", 8)
    False
    """
    text = "\x1f".join(str(part) for part in (seed, *names))
    digest = hashlib.blake2b(text.encode(), digest_size=8, person=b"coevo-stream").digest()
    return int.from_bytes(digest, "little") >> 1


def stream(seed: int, *names: object) -> np.random.Generator:
    """A NumPy generator (Philox) for the stream of that name."""
    return np.random.Generator(np.random.Philox(stream_seed(seed, *names)))
