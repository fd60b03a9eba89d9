"""Runs of units as Spark jobs: where they run, how long they may, what they cost."""
