"""Sessions, jobs and their ends: all that asks Spark."""
