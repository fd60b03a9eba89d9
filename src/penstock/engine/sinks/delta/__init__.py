"""Results into a table of Delta Lake, each delivery one version of it."""
