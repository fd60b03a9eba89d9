"""Rows for the oracle: every type that aggregates treat differently, nulls, bounded disorder."""

import random
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa

from penstock.engine.trains.types import arrow_schema
from penstock.model.schema import Column, Schema

BEGIN = datetime(2026, 3, 1, 11, 58, 0, tzinfo=UTC)
SLACK = timedelta(seconds=10)
COLUMNS = Schema(
    tuple(
        Column(*pair)
        for pair in (
            ("ts", "timestamp"),
            ("k", "string"),
            ("g", "int"),
            ("n", "int"),
            ("b", "bigint"),
            ("d", "decimal(10,2)"),
            ("x", "double"),
            ("flag", "boolean"),
        )
    )
)
KEYS = ("a", "ab", "b", "B", "", "ü", None)
TABLE_DDL = "k STRING, label STRING, factor INT"
TABLE = (
    {"k": "a", "label": "one", "factor": 2},
    {"k": "a", "label": "two", "factor": 0},
    {"k": "b", "label": None, "factor": 3},
    {"k": "ü", "label": "umlaut", "factor": 1},
    {"k": None, "label": "nobody", "factor": 1},
    {"k": "zz", "label": "unmatched", "factor": None},
)

Row = dict[str, Any]


def make_rows(seed: int, count: int, *, minutes: int = 6) -> list[Row]:
    """Return rows in the order of arrival; none is more than SLACK behind a row before it."""
    random_ = random.Random(seed)
    arrivals = sorted(random_.randrange(minutes * 60_000) for _ in range(count))
    return [_row(random_, BEGIN + timedelta(milliseconds=at)) for at in arrivals]


def _row(random_: random.Random, at: datetime) -> Row:
    behind = random_.choice((0, 0, 1, 2_500, 10_000, random_.randrange(10_001)))

    def maybe(value: Any) -> Any:
        return None if random_.random() < 0.1 else value

    return {
        "ts": at - timedelta(milliseconds=behind),
        "k": random_.choice(KEYS),
        "g": random_.randrange(4),
        "n": maybe(random_.randrange(-50, 51)),
        "b": maybe(random_.randrange(-(2**40), 2**40)),
        "d": maybe(Decimal(random_.randrange(-99_999, 100_000)) / 100),
        # Sixty-fourths: sums of them are exact, in whatever order they are added.
        "x": maybe(random_.randrange(-6_400, 6_401) / 64),
        "flag": maybe(random_.random() < 0.5),
    }


def as_table(rows: list[Row]) -> pa.Table:
    """Return the rows as Arrow."""
    return pa.Table.from_pylist(rows, arrow_schema(COLUMNS))
