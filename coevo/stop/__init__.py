"""Stopping rules: when a run ends. They compose; the first that says so ends the run."""
