"""Units, queries and rules at work, and who reads their results."""
