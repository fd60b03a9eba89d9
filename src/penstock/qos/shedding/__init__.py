"""Where tuples are dropped, how many, and which."""
