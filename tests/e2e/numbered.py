"""A stream of numbered rows, a second apart, and what tests ask of queries over it."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from penstock.client import Connection
from penstock.errors import PenstockError
from tests.e2e.support import (
    figures,
    results,
    rows_of,
    until,
    write_json,
)

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
STREAM = "CREATE STREAM s (ts TIMESTAMP, k STRING, n INT) TIMESTAMP BY ts FROM push();"
SCRIPT = """
CREATE STREAM s (ts TIMESTAMP, k STRING, n INT)
  TIMESTAMP BY ts SLACK INTERVAL 3 SECONDS FROM push();
CREATE TABLE names FROM files(path => '{table}', format => 'json');
CREATE QUERY flow AS SELECT ts, k, n * 2 AS n FROM s WHERE n % 3 <> 0;
CREATE QUERY joined AS SELECT s.n, t.name FROM s JOIN names t ON s.k = t.k;
CREATE QUERY tumbling AS SELECT window_start, k, count(*) AS n, sum(n) AS total
  FROM s [RANGE 10 SECONDS] GROUP BY k;
CREATE QUERY sliding AS SELECT window_end, max(n) AS n FROM flow [RANGE 10 SECONDS SLIDE 5 SECONDS];
CREATE QUERY minutes AS SELECT window_start, sum(n) AS n FROM tumbling [RANGE 1 MINUTE];
"""
QUERIES = ("flow", "joined", "tumbling", "sliding", "minutes")
Opener = Callable[[], Connection]


def at(second: float) -> datetime:
    return NOON + timedelta(seconds=second)


def row(n: int, second: float | None = None, k: str = "a") -> dict[str, Any]:
    return {"ts": at(n if second is None else second), "k": k, "n": n}


def push(ps: Connection, *numbers: int, stream: str = "s") -> None:
    ps.push(stream, [row(n) for n in numbers])


def numbers(ps: Connection, query: str, column: str = "n") -> list[int]:
    """Return a column of all that a query has delivered."""
    found = results(ps, query)
    return found[column].to_pylist() if found.num_rows else []


def arrive(ps: Connection, query: str, count: int, column: str = "n") -> list[int]:
    """Wait for so many rows of a query, and return the column."""
    until(ps, lambda: len(numbers(ps, query, column)) >= count)
    return numbers(ps, query, column)


def code(ps: Connection, statement: str) -> str:
    with pytest.raises(PenstockError) as refused:
        ps.sql(statement)
    return refused.value.code


def state(ps: Connection, query: str) -> str:
    return str(figures(ps, query)["state"])


def script(directory: Path) -> str:
    rows = [{"k": k, "name": k.upper()} for k in "abc"]
    return SCRIPT.format(table=write_json(directory / "names.json", rows))


def shown_rows(ps: Connection, what: str) -> list[dict[str, Any]]:
    return rows_of(ps.sql(f"SHOW {what}").table)
