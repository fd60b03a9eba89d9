"""Types and values, between Arrow, PostgreSQL's two formats and literals of SQL."""
