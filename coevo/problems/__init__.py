"""Optimisation problems: what a heuristic is asked for, how it is run, and how it is scored."""
