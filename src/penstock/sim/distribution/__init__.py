"""Several processors on a virtual clock, with the deciders of `place/`."""
