"""HyperGrid: perspectives derived from readings, cell by cell, as whole arrays: pure.

answers     rewritten, chosen, computed, explained
choice | coalesce
execution   top-down, bottom-up, hybrid-k
steps       one perspective from its sources
reach       which cells a window asks for
functions   convert, merge, interpolate, aggregate
space       cells, spans, axes that nest, bases and perspectives, arrays
"""
