"""PostgreSQL as we are its client: where it is, one session with it, types on both sides."""
