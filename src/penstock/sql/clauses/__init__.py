"""Clauses that several statements have: connectors, columns, flows, event expressions."""
