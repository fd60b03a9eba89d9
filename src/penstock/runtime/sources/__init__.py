"""Streams as they are read, archived and remembered, and tables."""
