"""The one error that finding, fetching or converting a model may end with."""

from coevo.error import CoevoError


class ModelError(CoevoError):
    """A model could not be made ready. The message is one line and says what to do about it."""
