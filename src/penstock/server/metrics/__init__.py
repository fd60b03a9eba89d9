"""Metrics: what runs, as Prometheus reads it at GET /metrics."""
