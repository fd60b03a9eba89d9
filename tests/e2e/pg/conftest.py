"""What clients of PostgreSQL's protocol talk to."""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from decimal import Decimal

import psycopg
import pyarrow as pa
import pytest

from penstock.runtime.statements.result import Result
from tests.e2e.pg.memory_home import MemoryHome, listening, relation

Psql = Callable[..., str]

ROWS = pa.table(
    {
        "ts": pa.array([datetime(2026, 1, 2, 3, 4, 5, 600000, UTC)], pa.timestamp("us", "UTC")),
        "car": pa.array(["a"]),
        "mph": pa.array([61], pa.int32()),
        "xs": pa.array([[1, 2, None]], pa.list_(pa.int64())),
        "d": pa.array([Decimal("12.50")], pa.decimal128(10, 2)),
        "s": pa.array([{"a": 1, "b": "x"}]),
    }
)
FAST = ROWS.select(["ts", "car", "mph"])
SELECT_FAST = "SELECT ts, car, mph FROM hits WHERE mph > 60"


@pytest.fixture
def home() -> MemoryHome:
    """Give a test a home with a stream and a query."""
    columns = "ts timestamp; car string; mph int; xs array<bigint>; d decimal(10,2)"
    return MemoryHome(
        [
            relation("hits", "stream", f"{columns}; s struct<a:bigint,b:string>"),
            relation("fast", "query", "ts timestamp; car string; mph int", SELECT_FAST),
        ],
        {
            "LIMIT 0": lambda _: [Result(table=ROWS.slice(0, 0))],
            r"SELECT (.|\n)*FROM\s+.?hits": lambda _: [Result(table=ROWS)],
            "EXPLAIN": lambda _: [Result("first\nsecond")],
        },
    )


@pytest.fixture
def port(home: MemoryHome) -> Iterator[int]:
    """Serve the home."""
    with listening(home) as taken:
        yield taken


@pytest.fixture
def dsn(port: int) -> str:
    """Return what clients connect with."""
    return f"host=127.0.0.1 port={port} user=me dbname=penstock"


@pytest.fixture
def client(dsn: str) -> Iterator[psycopg.Connection]:
    """Connect."""
    with psycopg.connect(dsn) as connection:
        yield connection


@pytest.fixture
def psql(dsn: str) -> Psql:
    """Run psql, and return what it prints."""
    found = shutil.which("psql")
    if found is None:
        pytest.skip("psql is not installed (postgresql-client)")

    def run(*commands: str, options: tuple[str, ...] = ()) -> str:
        given = [part for command in commands for part in ("-c", command)]
        done = subprocess.run(
            [found, "-X", *options, dsn, *given],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        return done.stdout + done.stderr

    return run
