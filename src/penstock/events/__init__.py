"""Detection of Snoop's events over Arrow, without Spark: the event detection graph."""
