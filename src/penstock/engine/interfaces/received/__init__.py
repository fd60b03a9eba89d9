"""Streams that come over a connection, kept in a log before the other side is told so."""
