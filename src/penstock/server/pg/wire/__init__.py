"""Messages of PostgreSQL's protocol 3.0 as frozen data, and their bytes."""
