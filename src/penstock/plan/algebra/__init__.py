"""Expressions: names, aggregates, conditions."""
