"""Bundles: many queries answered by one run over their common input."""
