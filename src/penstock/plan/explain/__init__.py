"""What EXPLAIN says and draws."""
