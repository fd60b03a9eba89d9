"""Graphs of functions: templates, types, programs for processes, and a run of the whole."""
