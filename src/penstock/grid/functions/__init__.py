"""The data functions: convert, merge, interpolate, aggregate, over columns of cells."""
