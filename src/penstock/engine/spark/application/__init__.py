"""The Spark application: how it starts, and how its end is noticed."""
