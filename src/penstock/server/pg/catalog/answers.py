"""Answers to questions about the catalog: SQLite in memory over small tables.

It is asked nothing but SELECTs that were parsed and written anew, may read and do nothing else,
and is stopped after some seconds.
"""

import json
import sqlite3
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import pyarrow as pa

from penstock.errors import BadQueryError, SqlError, TimedOutError
from penstock.server.pg.catalog.functions import functions_of, register
from penstock.server.pg.catalog.relations import Relation, SessionFacts
from penstock.server.pg.catalog.rewrite import Question, question
from penstock.server.pg.catalog.tables import (
    TABLES,
    Contents,
    always_empty,
    columns_of,
    insertions,
)
from penstock.server.pg.values import types
from penstock.server.pg.values.types import Column, PgType

SECONDS = 10.0  # nothing that a tool asks of tables so small takes so long
STEPS = 10_000  # of SQLite's machine between two looks at the clock
MOST_TEXT = 100_000  # characters: the questions of tools have a tenth of it
MOST_ROWS = 200_000  # more than all columns of thousands of queries
MOST_BYTES = 16 << 20  # of one value
READING = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION)
RECURSIVE = 33  # SQLITE_RECURSIVE, which sqlite3 does not name: WITH RECURSIVE
STORED = {types.BOOL: "INTEGER", types.TEXT: "TEXT", types.NAME: "TEXT", types.CHAR: "TEXT"}
EMPTY = always_empty()


@dataclass(frozen=True, slots=True)
class Answer:
    """Rows and their columns."""

    columns: tuple[Column, ...]
    rows: pa.Table


@dataclass(slots=True)
class Catalog:
    """The catalog as one session sees it; `relations` tells what there is at each question."""

    relations: Callable[[], tuple[Relation, ...]]
    _held: "tuple[tuple[Relation, ...], SessionFacts, sqlite3.Connection] | None" = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def ask(self, text: str, facts: SessionFacts) -> Answer:
        """Return the rows of a SELECT."""
        if len(text) > MOST_TEXT:
            raise BadQueryError(
                f"a question of {len(text):,} characters is too long", hint="ask less"
            )
        relations = self.relations()
        asked = question(text, functions_of(relations, facts), EMPTY)
        with self._lock:
            return _answer(self._database(relations, facts), asked)

    def close(self) -> None:
        """Let the memory go."""
        with self._lock:
            if self._held is not None:
                self._held[2].close()
                self._held = None

    def _database(self, relations: tuple[Relation, ...], facts: SessionFacts) -> sqlite3.Connection:
        """Return a database of what there is now; the same as long as that does not change."""
        if self._held is not None:
            if self._held[:2] == (relations, facts):
                return self._held[2]
            self._held[2].close()
        self._held = (relations, facts, _filled(relations, facts))
        return self._held[2]


def _filled(relations: tuple[Relation, ...], facts: SessionFacts) -> sqlite3.Connection:
    database = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_BYTES)
    for schema, tables in TABLES.items():
        database.execute(f"ATTACH ':memory:' AS {schema}")
        for table, written in tables.items():
            columns = (f'"{name}" {_stored(type_)}' for name, type_ in columns_of(written).items())
            database.execute(f"CREATE TABLE {schema}.{table} ({', '.join(columns)})")
    for statement, values in insertions(list(Contents(relations, facts).rows())):
        database.execute(statement, values)
    register(database, functions_of(relations, facts))
    database.execute("SELECT 1 FROM json_each('[]')")  # makes its table, which is no reading
    database.set_authorizer(_may_read)
    return database


def _stored(type_: PgType) -> str:
    return STORED.get(type_, "TEXT" if type_.size < 0 else "NUMERIC")


def _may_read(action: int, *_: object) -> int:
    reads = action in READING or action == RECURSIVE
    return sqlite3.SQLITE_OK if reads else sqlite3.SQLITE_DENY


def _answer(database: sqlite3.Connection, asked: Question) -> Answer:
    deadline = time.monotonic() + SECONDS
    database.set_progress_handler(lambda: time.monotonic() > deadline, STEPS)
    try:
        cursor = database.execute(asked.sql)
        names = [each[0] for each in cursor.description or ()]
        rows = cursor.fetchmany(MOST_ROWS + 1)
    except sqlite3.OperationalError as error:
        if "interrupted" in str(error):
            raise TimedOutError(f"the catalog took over {SECONDS:g} s", hint="ask less") from None
        raise _told(error) from None
    except sqlite3.Error as error:
        raise _told(error) from None
    if len(rows) > MOST_ROWS:
        raise BadQueryError(f"the catalog answers with {MOST_ROWS:,} rows at most", hint="ask less")
    return _typed(names, rows, asked)


def _told(error: sqlite3.Error) -> SqlError | BadQueryError:
    return BadQueryError(
        f"the catalog cannot answer this: {error}",
        hint="information_schema.tables and .columns tell what there is",
    )


def _typed(names: list[str], rows: list[tuple[object, ...]], asked: Question) -> Answer:
    told = asked.types
    if told is None or len(told) != len(names):
        kinds = [asked.known.get(name.lower()) for name in names]
    else:
        kinds, names = list(told), list(asked.names)
    values = [[row[index] for row in rows] for index in range(len(names))]
    typed = [kind or _seen(column) for kind, column in zip(kinds, values, strict=True)]
    columns = tuple(Column(name, kind) for name, kind in zip(names, typed, strict=True))
    arrays = [_array(kind, column) for kind, column in zip(typed, values, strict=True)]
    table = pa.Table.from_arrays(arrays, names=[str(i) for i in range(len(names))])
    return Answer(columns, table)


def _seen(values: list[object]) -> PgType:
    """Return the type that values have."""
    there = {type(value) for value in values if value is not None}
    if there and there <= {int}:
        return types.INT8
    return types.FLOAT8 if there and there <= {int, float} else types.TEXT


WHOLE = (types.INT2, types.INT4, types.INT8, types.OID, types.REGPROC, types.REGCLASS)


def _array(kind: PgType, values: list[object]) -> pa.Array:
    """Return the values of a column as the encoders take them."""
    if kind is types.BOOL:
        return pa.array([None if v is None else bool(v) for v in values], pa.bool_())
    if kind in WHOLE and all(v is None or isinstance(v, int) for v in values):
        return pa.array(values, pa.int64())
    if kind in (types.FLOAT4, types.FLOAT8):
        return pa.array(values, pa.float64())
    if kind.element is not None:
        return pa.array([_elements(value) for value in values], pa.list_(pa.string()))
    return pa.array([None if v is None else str(v) for v in values], pa.string())


def _elements(value: object) -> list[str | None] | None:
    if value is None:
        return None
    found = json.loads(str(value))
    return [None if each is None else str(each) for each in found]
