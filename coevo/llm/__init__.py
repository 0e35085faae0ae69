"""Language models: generation, the weights that evolve, and reading what a model wrote."""
