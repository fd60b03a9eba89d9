"""Where results go: one file a sink, listed by `engine/connectors`; sink.py has their contract."""
