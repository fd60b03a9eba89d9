"""Contracts under load: latencies, errors and utility with gates and without."""
