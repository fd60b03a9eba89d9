"""Items of streams: their types, vectors and windows."""
