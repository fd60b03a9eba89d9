"""Occurrences as columns of numbers, and the rows that they stand for."""
