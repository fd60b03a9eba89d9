"""Other servers as we are their clients, for what reads from them and what writes to them."""
