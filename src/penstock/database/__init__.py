"""Databases under what is durable: a SQLite file of the home, or PostgreSQL under a lease."""

from penstock.database.sql import SqlDatabase
from penstock.database.sqlite import COPY, IN_MEMORY, Database, DatabaseFormat, rows_of

__all__ = ["COPY", "IN_MEMORY", "Database", "DatabaseFormat", "SqlDatabase", "rows_of"]
