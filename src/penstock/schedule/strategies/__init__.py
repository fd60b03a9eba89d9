"""Which unit runs next: a file for each strategy."""
