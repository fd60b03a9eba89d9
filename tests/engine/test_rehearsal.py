"""Rehearsals: made-up rows go through everything that a unit asks, and never to users' Python."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from penstock.engine.spark.analysis import SparkAnalyst
from penstock.engine.spark.application.session import Sessions, open_sessions
from penstock.engine.spark.jobs import processor
from penstock.engine.spark.jobs.rehearsal_processor import (
    RehearsalProcessor,
    UsersCodeError,
    rehearsal_processors,
)
from penstock.engine.states.rehearsal import ROWS, can_rehearse, made_up, rehearse
from penstock.engine.trains.arrow_bridge import collect_small
from penstock.model.schema import Column, Schema
from penstock.plan.operators import EventTime, Scan
from penstock.plan.operators.graph import Graph
from penstock.plan.relations.sources import Source, StreamSource
from penstock.plan.select.bind import Binder
from penstock.plan.sharing.units import Unit, cut_at_shared
from penstock.sql import parse_select

pytestmark = pytest.mark.spark

SCHEMA = Schema(
    (
        Column("ts", "timestamp"),
        Column("k", "string"),
        Column("n", "int"),
        Column("v", "double"),
        Column("d", "decimal(3,2)"),
        Column("day", "date"),
        Column("ok", "boolean"),
        Column("list", "array<int>"),
    )
)
SCAN, OTHER = (Scan(name, n, SCHEMA, (EventTime("ts"),)) for n, name in enumerate("st"))
KNOWN: dict[str, Source] = {"s": StreamSource(SCAN), "t": StreamSource(OTHER)}
SELECTS = (
    "SELECT ts, soundex(k) AS x FROM s WHERE n > 0",
    "SELECT window_end, k, stddev(v) AS x FROM s [RANGE 2 SECONDS] GROUP BY k",
    "SELECT window_end, k, max(d) AS x FROM s [SESSION GAP 1 SECOND] GROUP BY k",
    "SELECT a.k, b.day FROM s [RANGE 1 SECOND] AS a JOIN t [RANGE 1 SECOND] AS b ON a.k = b.k",
)


@pytest.fixture(scope="module")
def sessions(spark: SparkSession) -> Sessions:
    return open_sessions(spark=spark)


@pytest.fixture
def processors(sessions: Sessions, tmp_path: Path) -> Iterator[tuple[RehearsalProcessor, ...]]:
    """Give those that ask Spark for everything, and leave out what calls `mean_of_users`."""
    made = rehearsal_processors(sessions, tmp_path, 30.0, {"mean_of_users"}, driver_rows=0)
    yield made
    for each in made:
        each.close_lanes()


@pytest.fixture
def units_of(sessions: Sessions) -> Callable[[str], tuple[Unit, ...]]:
    binder = Binder(KNOWN.get, SparkAnalyst(sessions.analysis))
    return lambda select: cut_at_shared(Graph({"q": binder.bind(parse_select(select))}))


@pytest.mark.parametrize("select", SELECTS)
def test_a_unit_asks_spark_about_made_up_rows_in_both_ways(
    processors: tuple[RehearsalProcessor, ...],
    units_of: Callable[[str], tuple[Unit, ...]],
    select: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[SparkSession] = []

    def collected(frame: DataFrame) -> pa.Table:
        asked.append(frame.sparkSession)
        return collect_small(frame)

    monkeypatch.setattr(processor, "collect_small", collected)
    for unit in units_of(select):
        assert can_rehearse(unit)
        for each in processors:
            rehearse(each, unit)
    assert {session.conf.get("spark.sql.codegen.wholeStage") for session in asked} == {
        "true",
        "false",
    }


def test_made_up_rows_have_a_value_for_every_plain_type() -> None:
    rows = made_up(SCAN)
    assert rows.num_rows == ROWS
    nulls = {name: rows[name].null_count for name in rows.column_names}
    assert nulls == {**dict.fromkeys(SCHEMA.names, 0), "list": ROWS}
    assert rows["ts"].to_pylist() == sorted(rows["ts"].to_pylist())


def test_users_python_is_called_for_none_of_them(
    processors: tuple[RehearsalProcessor, ...], units_of: Callable[[str], tuple[Unit, ...]]
) -> None:
    (unit,) = units_of("SELECT ts, n AS Mean_Of_Users FROM s")
    with pytest.raises(UsersCodeError):
        rehearse(processors[0], unit)
