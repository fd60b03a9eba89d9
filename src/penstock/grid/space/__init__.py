"""Cells, where they are, and how those of one axis consist of those of another."""
