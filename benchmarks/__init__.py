"""Benchmarks: Penstock and plain Structured Streaming side by side, compared as ratios.

`python -m benchmarks` runs them. Each scenario is one file with one function of the same name,
listed in `__main__.SCENARIOS`.
"""
