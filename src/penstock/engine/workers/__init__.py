"""Flows and detection spread over Spark's workers."""
