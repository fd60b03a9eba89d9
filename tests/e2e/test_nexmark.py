"""Nexmark's queries give exactly the known results, whatever the cut into trains."""

import json
import random
import re
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from penstock.client import Connection
from tests.e2e.reference.trial import each_train_alone
from tests.e2e.support import finish, results

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples/nexmark"
EXPECTED = Path(__file__).parent / "oracle/nexmark"
QUERIES = sorted(path.stem for path in EXPECTED.iterdir())
STREAMS = ("person", "auction", "bid")
SLACK = timedelta(seconds=4)

Row = dict[str, Any]


def rows_of(stream: str) -> list[Row]:
    lines = (EXAMPLES / f"data/{stream}/{stream}.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    for row in rows:
        row |= {n: _time(v) for n, v in row.items() if n in ("date_time", "expires")}
    return rows


def _time(text: str) -> datetime:
    return datetime.fromisoformat(f"{text}+00:00")


def shuffled(rows: list[Row], seed: int) -> list[Row]:
    """Return the rows in another order, none of them behind another by more than the slack."""
    chance = random.Random(seed)
    late = {id(row): row["date_time"] + chance.random() * SLACK / 2 for row in rows}
    return sorted(rows, key=lambda row: late[id(row)])


def by_turns(streams: dict[str, list[Row]], size: int) -> Iterator[tuple[str, list[Row]]]:
    """Yield trains of so many rows, the stream whose next tuple is oldest first."""
    waiting = {name: list(rows) for name, rows in streams.items()}
    while any(waiting.values()):
        name = min((n for n in waiting if waiting[n]), key=lambda n: waiting[n][0]["date_time"])
        yield name, waiting[name][:size]
        waiting[name] = waiting[name][size:]


def shown(value: Any) -> str:
    """Return a value as the expected files have it."""
    match value:
        case None:
            return "NULL"
        case "":
            return "(empty)"
        case datetime():
            text = value.strftime("%Y-%m-%d %H:%M:%S.%f")
            return text.rstrip("0").rstrip(".")
        case float() | Decimal():
            return _number(str(value))
        case _:
            return str(value)


def _number(text: str) -> str:
    """Return a number without trailing zeros, as far as a double is exact."""
    return f"{Decimal(f'{Decimal(text):.14g}').normalize():f}"


def expected(query: str) -> Counter[tuple[str, ...]]:
    lines = (EXPECTED / f"{query}.tsv").read_text().splitlines()
    return Counter(tuple(map(_normal, line.split("\t"))) for line in lines)


def _normal(text: str) -> str:
    return _number(text) if re.fullmatch(r"-?\d+\.\d+", text) else text


def found(table: pa.Table) -> Counter[tuple[str, ...]]:
    return Counter(tuple(map(shown, row.values())) for row in table.to_pylist())


@pytest.fixture(scope="module")
def ps(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    with each_train_alone(tmp_path_factory.mktemp("nexmark") / "home", spark) as connection:
        yield connection


@pytest.mark.parametrize(("size", "seed"), [(1, 1), (7, None), (7, 2), (50, None), (50, 3)])
def test_all_queries_give_the_known_results(ps: Connection, size: int, seed: int | None) -> None:
    pushed = re.sub(r"FROM files\([^)]*\)", "FROM push()", (EXAMPLES / "streams.sql").read_text())
    queries = "".join((EXAMPLES / f"{name}.sql").read_text() for name in QUERIES)
    streams = {name: rows_of(name) for name in STREAMS}
    if seed is not None:
        streams = {name: shuffled(rows, seed) for name, rows in streams.items()}
    try:
        ps.script(pushed + queries)
        for name, train in by_turns(streams, size):
            ps.push(name, train)
        for name in STREAMS:
            ps.end(name)
        finish(ps)
        for name in QUERIES:
            assert found(results(ps, name)) == expected(name), name
    finally:
        for name in QUERIES:
            ps.sql(f"DROP QUERY IF EXISTS {name}")
        for name in STREAMS:
            ps.sql(f"DROP STREAM IF EXISTS {name}")


@pytest.mark.parametrize("query", QUERIES)
def test_every_query_has_its_script(query: str) -> None:
    text = (EXAMPLES / f"{query}.sql").read_text()
    assert re.search(rf"CREATE QUERY {query} AS", text)
