"""Streams, schemas, windows, goals and trains: frozen data that every room shares."""
