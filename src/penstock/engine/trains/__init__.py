"""Trains of rows: in memory and on disk, in buffers, through gates."""
