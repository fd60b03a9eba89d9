"""Queries as they live: run, wait, are suspended, stopped, resumed, tuned, and read."""
