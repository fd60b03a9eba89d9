"""A table of PostgreSQL that a query writes into, exactly once.

A delivery's number goes into `penstock_deliveries` in the transaction that brings its rows: both
are there or neither. A number that is there already changes nothing, so that a delivery may come
again after a crash, a lost connection or a COMMIT of which nobody heard the end. The row of that
table is locked meanwhile: a transaction of a process that was killed is over before the next one
looks.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from psycopg.sql import SQL, Composable, Identifier

from penstock.engine.clients.postgres.column_types import postgres_types
from penstock.engine.clients.postgres.place import PostgresPlace
from penstock.engine.clients.postgres.session import Cursor, Session, listed, named
from penstock.engine.sinks.postgres.copy_text import copy_text
from penstock.engine.sinks.sink import Delivery
from penstock.errors import SinkError
from penstock.model.own_names import own

DELIVERIES = "penstock_deliveries"
STAGE = "penstock_stage"  # a temporary table of the session, gone at the end of the transaction
ROW = own("row")
DOCUMENTS = ("json", "jsonb")
CHUNK = 1 << 20  # bytes that are handed to the driver at once

LAST = SQL("SELECT number FROM {} WHERE owner = %s AND query = %s")
CLAIM = SQL(
    "INSERT INTO {} AS d (owner, query, number, delivered) VALUES (%s, %s, %s, now()) "
    "ON CONFLICT (owner, query) DO UPDATE SET number = excluded.number, delivered = now() "
    "WHERE d.number < excluded.number RETURNING number"
)
MAKE_DELIVERIES = SQL(
    "CREATE TABLE IF NOT EXISTS {} (owner text, query text, number bigint NOT NULL, "
    "delivered timestamptz NOT NULL, PRIMARY KEY (owner, query))"
)
COLUMNS = """
SELECT a.attname, t.typname, a.attnotnull AND NOT a.atthasdef AND a.attidentity = ''
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
JOIN pg_type t ON t.oid = a.atttypid
WHERE n.nspname = %s AND c.relname = %s AND c.relkind IN ('r', 'p', 'v', 'f') ORDER BY a.attnum
"""
IS_THERE = (
    "SELECT EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
    "WHERE n.nspname = %s AND c.relname = %s)"
)


@dataclass(frozen=True, slots=True)
class TargetTable:
    """What a query asks of its table; with a key, rows replace those of the same key."""

    name: str
    key: tuple[str, ...]
    create: bool


@dataclass(frozen=True, slots=True)
class _Found:
    """A column of the table as it is: its type, and whether a row must have a value for it."""

    kind: str
    required: bool


class Target:
    """One query's way into one table; `owner` tells homes apart that write under one name."""

    def __init__(self, place: PostgresPlace, table: TargetTable, owner: str, query: str) -> None:
        self._place, self._table = place, table
        self._who = (owner, query.lower())
        self._session = Session(place, SinkError)
        self._deliveries = named(place.schema, DELIVERIES)
        self._target = named(place.schema, table.name)

    def open(self) -> int:
        """Make the table of deliveries where it is missing; return the last number it has."""
        with self._session.transaction() as cursor:
            cursor.execute(IS_THERE, (self._place.schema, DELIVERIES))
            if not _one(cursor):
                cursor.execute(MAKE_DELIVERIES.format(self._deliveries))
            cursor.execute(LAST.format(self._deliveries), self._who)
            return int(_one(cursor) or 0)

    def write(self, delivery: Delivery) -> None:
        """Bring the rows with their number, unless the number is there."""
        rows = delivery.rows
        with self._session.transaction() as cursor:
            cursor.execute(CLAIM.format(self._deliveries), (*self._who, delivery.number))
            if cursor.fetchone() is None:
                return
            found = self._columns(cursor, rows.schema)
            documents = frozenset(n for n in rows.column_names if found[n].kind in DOCUMENTS)
            if not self._table.key:
                _copy(cursor, self._target, rows, documents)
            else:
                self._upsert(cursor, rows, documents)

    def close(self) -> None:
        """End the session."""
        self._session.close()

    def _columns(self, cursor: Cursor, schema: pa.Schema) -> dict[str, _Found]:
        """Return the table's columns; make it where that is wanted, raise where they misfit."""
        found = self._found(cursor)
        if not found and self._table.create:
            self._make(cursor, schema)
            found = self._found(cursor)
        if not found:
            raise SinkError(
                f"{self._place} has no table {self._where()}",
                hint="make it there, or give create => true",
            )
        if strange := [name for name in schema.names if name not in found]:
            raise SinkError(
                f"table {self._where()} has no column {', '.join(strange)}",
                hint=f"it has {', '.join(found)}; name the query's columns so with AS",
            )
        if lacking := [n for n, c in found.items() if c.required and n not in schema.names]:
            raise SinkError(
                f"table {self._where()} needs a value for {', '.join(lacking)}, "
                "and the query gives none",
                hint="give the column a default there, or select it",
            )
        return found

    def _found(self, cursor: Cursor) -> dict[str, _Found]:
        cursor.execute(COLUMNS, (self._place.schema, self._table.name))
        return {name: _Found(kind, required) for name, kind, required in cursor.fetchall()}

    def _make(self, cursor: Cursor, schema: pa.Schema) -> None:
        """Make the table as the rows are, in the transaction of its first rows."""
        types = postgres_types(schema)
        lines = [SQL("{} {}").format(Identifier(n), SQL(kind)) for n, kind in types.items()]
        if self._table.key:
            lines.append(SQL("PRIMARY KEY ({})").format(listed(self._table.key)))
        columns = SQL(", ").join(lines)
        cursor.execute(SQL("CREATE TABLE {} ({})").format(self._target, columns))

    def _upsert(self, cursor: Cursor, rows: pa.Table, documents: frozenset[str]) -> None:
        """Put the last row of each key in place of the one that is there."""
        names, key = rows.column_names, list(self._table.key)
        if strange := [name for name in key if name not in names]:
            raise SinkError(
                f"the query gives no column {', '.join(strange)}, which is its sink's key",
                hint=f"it gives {', '.join(names)}",
            )
        stage = Identifier("pg_temp", STAGE)
        cursor.execute(
            SQL("CREATE TEMP TABLE {} ON COMMIT DROP AS SELECT {} FROM {} WITH NO DATA").format(
                Identifier(STAGE), listed(names), self._target
            )
        )
        cursor.execute(
            SQL("ALTER TABLE {} ADD {} bigint GENERATED ALWAYS AS IDENTITY").format(
                stage, Identifier(ROW)
            )
        )
        _copy(cursor, stage, rows, documents)
        cursor.execute(
            SQL(
                "INSERT INTO {target} ({names}) SELECT DISTINCT ON ({key}) {names} FROM {stage} "
                "ORDER BY {key}, {row} DESC ON CONFLICT ({key}) {action}"
            ).format(
                target=self._target,
                names=listed(names),
                key=listed(key),
                stage=stage,
                row=Identifier(ROW),
                action=_action([name for name in names if name not in key]),
            )
        )

    def _where(self) -> str:
        return f"{self._place.schema}.{self._table.name}"


def _action(others: Sequence[str]) -> Composable:
    if not others:
        return SQL("DO NOTHING")
    each = [SQL("{0} = excluded.{0}").format(Identifier(name)) for name in others]
    return SQL("DO UPDATE SET {}").format(SQL(", ").join(each))


def _copy(cursor: Cursor, into: Composable, rows: pa.Table, documents: frozenset[str]) -> None:
    statement = SQL("COPY {} ({}) FROM STDIN").format(into, listed(rows.column_names))
    text = memoryview(copy_text(rows, documents))
    with cursor.copy(statement) as copy:
        for start in range(0, len(text), CHUNK):
            copy.write(text[start : start + CHUNK])


def _one(cursor: Cursor) -> Any:
    row = cursor.fetchone()
    return row[0] if row is not None else None
