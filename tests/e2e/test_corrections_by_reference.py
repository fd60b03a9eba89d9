"""EMIT EARLY and ALLOWED LATENESS: the last row of a window is the one that brute force finds."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from penstock.client import Connection
from tests.e2e.reference.streams import BEGIN, SECOND, Flow, flows
from tests.e2e.reference.trial import LAW, each_train_alone, numbers
from tests.e2e.reference.windows import (
    Row,
    Window,
    WindowAssigner,
    landmarks,
    micros,
    moment,
    over_times,
    partitions,
    spans,
)
from tests.e2e.support import figures, finish, results

pytestmark = pytest.mark.spark

START = micros(BEGIN)
LONG = "INTERVAL 1 DAY"  # so that nothing is ever too late


@pytest.fixture(scope="module")
def ps(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    with each_train_alone(tmp_path_factory.mktemp("corrections") / "home", spark) as connection:
        yield connection


class Disorderly(Flow):
    """A stream that promises an order, and does not keep it."""

    def definition(self, name: str) -> str:
        return (
            f"CREATE STREAM {name} (ts TIMESTAMP, id INT, k STRING, g INT, x INT, "
            "d DECIMAL(10,2), w STRING) TIMESTAMP BY ts FROM push(rows_per_train => 1000);"
        )


def disorderly(flow: Flow) -> Flow:
    """Return the flow with every fifth tuple far behind, in trains that are seen one by one."""
    rows = [
        row | {"ts": row["ts"] - 5 * (row["ts"] - BEGIN) / 6} if row["id"] % 5 == 4 else row
        for row in flow.rows
    ]
    rows = [row | {"ts": row["ts"].replace(microsecond=0)} for row in rows]
    return Disorderly(rows, [max(4, len(rows) // 5)])


def time_sql(at: int) -> str:
    return f"TIMESTAMP '{moment(at):%Y-%m-%d %H:%M:%S}'"


def forms(first: int, size: int) -> dict[str, Callable[[list[Row]], list[Window]]]:
    """Return windows in brackets, and what they hold by brute force."""
    begin, end = START + first * SECOND, START + (first + size) * SECOND
    found: dict[str, Callable[[list[Row]], list[Window]]] = {
        f"RANGE {size} SECONDS SLIDE 3 SECONDS": lambda rows: spans(
            rows, size * SECOND, 3 * SECOND
        ),
        f"LANDMARK FROM {time_sql(begin)} EVERY {size} SECONDS": lambda rows: landmarks(
            rows, begin, size * SECOND
        ),
    }
    for lower, upper in ((2, 0), (1, 3), (0, 3)):
        assigner = WindowAssigner(begin, end, lower * SECOND, upper * SECOND)
        text = f"BEGIN {time_sql(begin)} END {time_sql(end)} HOP ({lower} SECONDS, {upper} SECONDS)"
        found[text] = lambda rows, assigner=assigner: over_times(rows, assigner)  # type: ignore[misc]
    return found


def counted(windows: list[Window]) -> dict[tuple[Any, ...], int]:
    return {
        (moment(start), moment(end), held[0]["k"]): len(held)
        for start, end, rows in windows
        for held in partitions(rows, ("k",))
    }


@LAW
@given(flow=flows().map(disorderly), first=st.integers(0, 8), size=st.integers(3, 15))
def test_the_last_row_of_a_window_counts_all_of_its_tuples(
    flow: Flow, first: int, size: int, ps: Connection
) -> None:
    trial = next(numbers)
    asked = {f"c{place}_{trial}": form for place, form in enumerate(forms(first, size).items())}
    try:
        ps.script(flow.definition(f"s_{trial}"))
        for name, (window, _) in asked.items():
            ps.sql(
                f"CREATE QUERY {name} AS SELECT window_start, window_end, k, count(*) AS n "
                f"FROM s_{trial} [{window}] GROUP BY k "
                f"EMIT EARLY EVERY INTERVAL 7 SECONDS ALLOWED LATENESS {LONG}"
            )
        for train in flow.trains():
            ps.push(f"s_{trial}", train)
        ps.end(f"s_{trial}")
        finish(ps)
        for name, (window, find) in asked.items():
            assert figures(ps, name)["late_rows"] == 0
            rows = results(ps, name).to_pylist()
            closed = {of(row): row["n"] for row in rows if row["emitted"] != "early"}
            assert closed == counted(find(flow.rows)), window
            early = [(of(row), row["n"]) for row in rows if row["emitted"] == "early"]
            assert all(n <= closed[each] for each, n in early), window
    finally:
        for name in asked:
            ps.sql(f"DROP QUERY IF EXISTS {name}")
        ps.sql(f"DROP STREAM IF EXISTS s_{trial}")


def of(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["window_start"], row["window_end"], row["k"]
