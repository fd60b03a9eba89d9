"""Choosing a flow: what its sites cost, which plan carries most, and when to ask again."""
