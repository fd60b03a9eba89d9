"""Operators that answer many queries at once, and what each of their members asks."""
