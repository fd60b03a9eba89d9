"""What functions are given and made of: flows, their time-outs, vectors and users' aggregates."""
