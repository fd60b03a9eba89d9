"""Aggregates over windows."""
