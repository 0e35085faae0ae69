"""No time limit for an example: on a busy machine a slow one says nothing of the code."""

from hypothesis import settings

settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")
