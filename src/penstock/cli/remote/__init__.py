"""Commands that ask a server by `--url` instead of opening a home."""
