"""States of aggregates over windows: partials, their combination and the closing of windows."""
