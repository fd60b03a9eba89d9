"""PostgreSQL's wire protocol: psql, drivers and tools that speak it ask Penstock."""
