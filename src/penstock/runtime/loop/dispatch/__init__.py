"""Which unit runs next, over which trains, and what becomes of its run."""
