"""The inner loop: an evolution strategy over a language model's weights.

Knows nothing of models or of transformers: named arrays in, (seeds, weights, alpha) out.
"""
