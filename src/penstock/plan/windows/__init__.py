"""GROUP BY and windows bound to operators."""
