"""Clients of `penstock serve` over HTTP: the same calls as an embedded connection, and no Spark."""
