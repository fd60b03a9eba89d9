"""pg_catalog and information_schema: small tables of what there is, asked by SQLite."""
