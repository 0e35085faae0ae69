"""Compile a function with Numba, cached on disk wherever a cache can be written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """``numba.njit`` with its cache, or without where there is nowhere at all to write one: a
    read-only install, say, of a user without a home.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        try:
            return njit(cache=True, **options)(function)
        except RuntimeError as error:  # neither the package nor the user's cache is writable
            if "no locator available" not in str(error):
                raise
            return njit(**options)(function)

    return decorate
