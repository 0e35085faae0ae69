"""Errors that a user can mend."""

from __future__ import annotations


class CoevoError(Exception):
    """Something is wrong that the user can put right. The message is one line that states the fix;
    the command line prints it without a traceback and exits with ``exit_code``.
    """

    exit_code = 1


class UsageError(CoevoError):
    """Wrong flags or settings, noticed before any work is done."""

    exit_code = 2
