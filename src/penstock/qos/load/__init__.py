"""The load: of now, of the next seconds, and of plans that nobody has run."""
