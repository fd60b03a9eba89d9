"""The detection graph, its state, and what comes out."""
