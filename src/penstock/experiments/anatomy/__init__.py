"""The questions of Anatomy of a DSMS: latency, memory and overload."""
