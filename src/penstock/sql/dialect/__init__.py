"""Tokens, expressions and windows in brackets: the dialect that all statements share."""
