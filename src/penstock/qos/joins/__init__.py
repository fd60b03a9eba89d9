"""Joins without windows: how many tuples each input has to keep, and how (Wu, chapter 3): pure."""
