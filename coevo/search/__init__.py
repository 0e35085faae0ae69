"""The outer loop: populations of heuristics and the operators that breed them."""
