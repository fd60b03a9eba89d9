"""Results into a table of PostgreSQL, each delivery in one transaction with its number."""
