"""The feed: figures sampled once for all who look at them, and what changed since."""
