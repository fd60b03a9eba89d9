"""Checks of a home that is not open: what is whole, what is not, and what can be done."""
