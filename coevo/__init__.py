"""coevo: heuristic design in which the text and the model that writes it evolve together."""

__version__ = "0.1.0"
