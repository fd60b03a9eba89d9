"""PUNCTUATE: windows of groups that get no more tuples close at once, and what comes is late."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.client import Connection
from penstock.engine.states.joins.window_join import WindowJoinState
from penstock.errors import PenstockError
from tests.e2e.support import PATIENCE, results, rows_of, stream_figures, until

pytestmark = pytest.mark.spark

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
SCRIPT = """
CREATE STREAM traffic (ts TIMESTAMP, car_id STRING, mph INT) TIMESTAMP BY ts FROM push();
CREATE QUERY cars AS SELECT ts, car_id AS car, mph FROM traffic WHERE mph > 0;
CREATE QUERY counts AS
  SELECT car, count(*) AS c, sum(mph) AS total, window_start
  FROM cars [RANGE 20 SECONDS SLIDE 10 SECONDS] GROUP BY car;
CREATE QUERY medians AS
  SELECT car_id, percentile(mph, 0.5) AS median FROM traffic [RANGE 20 SECONDS] GROUP BY car_id;
CREATE QUERY every AS SELECT count(*) AS c FROM traffic [RANGE 20 SECONDS]
"""
Opener = Callable[[], Connection]


@pytest.fixture
def opener(spark: SparkSession, tmp_path: Path) -> Opener:
    return lambda: penstock.connect(tmp_path / "home", spark=spark)


@pytest.fixture
def ps(opener: Opener) -> Iterator[Connection]:
    with opener() as connection:
        yield connection


def push(ps: Connection, car: str, *seconds: int) -> None:
    ps.push("traffic", [{"ts": at(n), "car_id": car, "mph": n + 1} for n in seconds])


def at(second: int) -> datetime:
    return NOON + timedelta(seconds=second)


def found(ps: Connection, query: str) -> list[dict[str, Any]]:
    return rows_of(results(ps, query))


def late(ps: Connection, query: str) -> list[dict[str, Any]]:
    return rows_of(ps.sql(f"SELECT * FROM {query}.late").table)


def test_a_group_that_gets_no_more_tuples_is_answered_for_at_once(opener: Opener) -> None:
    with opener() as ps:
        ps.script(SCRIPT)
        push(ps, "x", 1, 2)
        push(ps, "y", 3)
        ps.punctuate("traffic", "car_id = 'x'")
        until(ps, lambda: len(found(ps, "counts")) == 2 and len(found(ps, "medians")) == 1)
        starts = [at(-10), at(0)]
        assert found(ps, "counts") == [
            {"car": "x", "c": 2, "total": 5, "window_start": start} for start in starts
        ]
        assert found(ps, "medians") == [{"car_id": "x", "median": 2.5}]
    with opener() as ps:  # what was said is remembered
        push(ps, "x", 4)
        push(ps, "y", 5)
        until(ps, lambda: len(late(ps, "counts")) == len(late(ps, "medians")) == 1)
        assert [(row["car"], row["mph"]) for row in late(ps, "counts")] == [("x", 5)]
        push(ps, "z", 60)
        until(ps, lambda: len(found(ps, "every")) == 1)
        assert found(ps, "every") == [{"c": 5}]  # no group of it is inside the condition
        until(ps, lambda: len(found(ps, "counts")) == 4)
        assert [row["c"] for row in found(ps, "counts") if row["car"] == "y"] == [2, 2]
        push(ps, "x", 61)  # the windows of then have passed
        ps.end("traffic")
        assert ps.wait(PATIENCE)
        assert sum(row["c"] for row in found(ps, "counts") if row["car"] == "x") == 6
        assert len(late(ps, "counts")) == 1


def test_a_punctuation_that_nobody_can_use_changes_nothing(ps: Connection) -> None:
    ps.script(SCRIPT)
    push(ps, "x", 1)
    ps.sql("PUNCTUATE traffic WHERE mph > 3; PUNCTUATE traffic WHERE car_id = 'x' AND mph > 3")
    push(ps, "x", 9)
    until(ps, lambda: stream_figures(ps, "traffic")["trains"] == 4)
    ps.end("traffic")
    assert ps.wait(PATIENCE)
    assert [row["c"] for row in found(ps, "counts")] == [2, 2]


def kept_rows(ps: Connection) -> list[int]:
    """Return how many rows the one join of the system keeps of each side."""
    (state,) = (
        live.state
        for live in ps.system.topology.units.values()
        if isinstance(live.state, WindowJoinState)
    )
    return [sum(rows.count for rows in side.rows) for side in state.rows.sides]


def test_a_join_lets_go_of_what_waits_for_nothing(opener: Opener) -> None:
    with opener() as ps:
        ps.script("""
            CREATE STREAM traffic (ts TIMESTAMP, car_id STRING, mph INT)
              TIMESTAMP BY ts FROM push();
            CREATE STREAM exits (at TIMESTAMP, car STRING) TIMESTAMP BY at FROM push();
            CREATE QUERY gone AS SELECT e.car, t.car_id, t.mph
              FROM traffic [RANGE 1 HOUR] AS t JOIN exits [RANGE 1 HOUR] AS e ON t.car_id = e.car;
        """)
        ps.push("exits", [{"at": at(0), "car": car} for car in ("x", "y", "x", "z")])
        until(ps, lambda: kept_rows(ps) == [0, 4])
        ps.sql("PUNCTUATE traffic WHERE car_id = 'x' OR car_id = 'z'")
        until(ps, lambda: kept_rows(ps) == [0, 1])
    with opener() as ps:
        push(ps, "x", 1)
        push(ps, "y", 2)
        until(ps, lambda: len(found(ps, "gone")) == 1)
        assert found(ps, "gone") == [{"car": "y", "car_id": "y", "mph": 3}]
        assert [row["car_id"] for row in late(ps, "gone")] == ["x"]


@pytest.mark.parametrize(
    ("statement", "code"),
    [
        ("PUNCTUATE roads WHERE true", "UNKNOWN_NAME"),
        ("PUNCTUATE cars WHERE car = 'x'", "UNKNOWN_NAME"),
        ("PUNCTUATE traffic WHERE car = 'x'", "UNKNOWN_COLUMN"),
        ("PUNCTUATE traffic WHERE mph + 1", "TYPE_MISMATCH"),
        ("PUNCTUATE traffic WHERE nope(mph) = 1", "UNKNOWN_FUNCTION"),
    ],
)
def test_what_is_wrong_with_a_condition_is_told(ps: Connection, statement: str, code: str) -> None:
    ps.script(SCRIPT)
    with pytest.raises(PenstockError) as refused:
        ps.sql(statement)
    assert refused.value.code == code
    assert stream_figures(ps, "traffic")["trains"] == 0
