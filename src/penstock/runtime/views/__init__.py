"""What SHOW, DESCRIBE and EXPLAIN tell."""
