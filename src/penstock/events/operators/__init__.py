"""Snoop's operators, in every consumption mode."""
