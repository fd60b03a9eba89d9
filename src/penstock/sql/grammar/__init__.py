"""The statements, as frozen data, and how each is read."""
