"""States of aggregates, and of queries that share a run."""
