"""Relations of what runs: units, their operators, buffers, sharing, sites and strategy."""
