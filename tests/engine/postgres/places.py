"""Sinks and tables of PostgreSQL as SQL would make them, for a database of the test server."""

from typing import Any

import pytest
from psycopg.conninfo import conninfo_to_dict

from penstock.clock import Clock, WallClock
from penstock.engine.allowed import Allowed
from penstock.engine.sinks.postgres.postgres import PostgresSink
from penstock.engine.sinks.sink import SinkSurroundings
from penstock.engine.table_sources.postgres import PostgresTable
from penstock.model.definitions import Connector, Option, QueryDefinition, Secret, TableDefinition
from penstock.model.schema import Schema

LOOPBACK = Allowed(hosts=frozenset({"127.0.0.1"}))


class Database:
    """One database, and the options that name it."""

    def __init__(self, url: str, patch: pytest.MonkeyPatch) -> None:
        self.url = url
        told: dict[str, Any] = conninfo_to_dict(url)
        patch.setenv("PENSTOCK_SECRET_PG", told["password"])
        self.options: dict[str, Option] = {
            "host": told["host"],
            "port": int(told["port"]),
            "database": told["dbname"],
            "user": told["user"],
            "password": Secret("PG"),
        }

    def connector(self, **more: Option) -> Connector:
        """Return the connector with more options, or with others."""
        return Connector("postgres", tuple((self.options | more).items()))

    def sink(self, home: str = "one", query: str = "fast", **more: Option) -> PostgresSink:
        """Return the closed sink of a query of some home."""
        definition = QueryDefinition(query, "SELECT 1", sink=self.connector(**more))
        return PostgresSink(definition, SinkSurroundings(lambda: home, lambda: LOOPBACK))

    def table(
        self, schema: Schema | None = None, clock: Clock | None = None, **more: Option
    ) -> PostgresTable:
        """Return a table that is read from there."""
        definition = TableDefinition("cars", self.connector(**more), schema)
        return PostgresTable(definition, lambda: LOOPBACK, clock or WallClock())


def sql_options(url: str) -> str:
    """Return the options that name a database, as SQL has them; the secret is PG."""
    told: dict[str, Any] = conninfo_to_dict(url)
    return (
        f"host => '{told['host']}', port => {told['port']}, database => '{told['dbname']}', "
        f"user => '{told['user']}', password => secret('PG')"
    )
