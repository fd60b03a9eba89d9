"""Results as requests of HTTP."""
