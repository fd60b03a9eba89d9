"""Queries with max_error: where gates stand, and what is estimated behind them."""
