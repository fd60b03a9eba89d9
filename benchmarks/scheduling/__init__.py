"""Strategies on real Spark, past capacity: who is in time, how late, and how much waits."""
