"""Plans, schedules and estimates, as EXPLAIN shows them."""
