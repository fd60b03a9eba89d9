"""What the end-to-end tests share: small data, waiting, and rows as bags."""

import json
import math
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from penstock.client import Connection
from penstock.runtime.loop.supervisor import Settings
from penstock.runtime.work.run_limits import RunLimits

PATIENCE = 240.0  # seconds for any one wait: the machine may be busy, or a slow one
POLL_SECONDS = 0.02
TINY = 1e-9  # below it a double is noise of the moments
# Every train is a run by itself, as if it had come when nothing else waited.
EACH_TRAIN_ALONE = Settings(limits=RunLimits(flow_rows=1, aggregate_rows=1))


def finish(ps: Connection, *, held: Collection[str] = ()) -> None:
    """Wait until every source has ended and everything is delivered.

    Fails at once when a query is held, unless it is one of those that are meant to be.
    """

    def is_done() -> bool:
        done = ps.wait(1)
        states = rows_of(ps.sql("SHOW QUERIES").table)
        bad = [row for row in states if row["state"] == "FAILED" and row["query"] not in held]
        assert not bad, bad
        return done

    until(ps, is_done)


def until(where: Connection | Callable[[], str], holds: Callable[[], bool]) -> None:
    """Wait until something holds; the machine may be busy.

    Where that takes too long, the test fails with how the system stands, or what `where` says.
    """
    deadline = time.monotonic() + PATIENCE
    while not holds():
        late = time.monotonic() > deadline
        assert not late, shown(where) if isinstance(where, Connection) else where()
        time.sleep(POLL_SECONDS)


def leave_alone(ps: Connection) -> None:
    """Let nobody but the test look at the load, set gates and suspend."""
    supervisor = ps.system.supervisor
    with supervisor.resting():  # else a look that is under way would say when the next one is
        supervisor.quality._next_look = math.inf


def shown(ps: Connection) -> str:
    """Return how the system stands, for a test that waited in vain."""
    views = ("SHOW STREAMS", "SHOW QUERIES", "SHOW RULES")
    return "\n".join(str(row) for each in views for row in rows_of(ps.sql(each).table))


def rows_of(table: pa.Table | None) -> list[dict[str, Any]]:
    """Return a statement's rows."""
    assert table is not None
    return list(table.to_pylist())


def results(ps: Connection, query: str) -> pa.Table:
    """Return all that a query has delivered up to now."""
    with ps.subscribe(query) as subscription:
        tables = list(subscription.tables(0))
    if tables:
        return pa.concat_tables(tables)
    return pa.table({})


def bag(table: pa.Table) -> Counter[tuple[Any, ...]]:
    """Return the rows as a bag; doubles to nine digits, since moments may differ in the last."""
    return Counter(tuple(map(plain, row.values())) for row in table.to_pylist())


def plain(value: Any) -> Any:
    """Return a value that can be counted and compared."""
    match value:
        case float() if math.isnan(value):
            return "NaN"
        case float():
            return float(f"{value:.9g}") if abs(value) > TINY else 0.0
        case dict():
            return tuple((name, plain(each)) for name, each in value.items())
        case list():
            return tuple(map(plain, value))
        case _:
            return value


def write_json(path: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    """Write rows as one JSON object a line; what JSON has no word for becomes text."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(dict(row), default=str) + "\n" for row in rows)
    path.write_text(text)
    return path


def replace_json(path: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    """Write rows as `write_json` does; who looks sees the old file or the whole new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return write_json(path.parent.with_suffix(".draft"), rows).replace(path)


def figures(ps: Connection, query: str) -> dict[str, Any]:
    """Return a query's row of SHOW QUERIES."""
    return next(row for row in rows_of(ps.sql("SHOW QUERIES").table) if row["query"] == query)


def stream_figures(ps: Connection, stream: str) -> dict[str, Any]:
    """Return a stream's row of SHOW STREAMS."""
    return next(row for row in rows_of(ps.sql("SHOW STREAMS").table) if row["stream"] == stream)
