"""Aggregates in Python: they answer as Spark's own, a failing one holds its query alone."""

import math
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.errors import BadOptionError, BadQueryError, NameTakenError
from penstock.model.functions.user_aggregates import UserAggregate
from tests.e2e.support import bag, figures, finish, results, rows_of, until

pytestmark = pytest.mark.spark

BEGIN = datetime(2026, 3, 1, tzinfo=UTC)
STREAM = (
    "CREATE STREAM readings (ts TIMESTAMP, k STRING, x INT) TIMESTAMP BY ts "
    "FROM push(rows_per_train => 1);"
)
State = dict[str, Any]


def add(state: State, values: pa.Array) -> State:
    known = values.drop_null()
    assert pa.types.is_float64(values.type)
    if pc.any(pc.less(known, 0.0), min_count=0).as_py():
        raise ValueError("a negative value has no logarithm")
    return {"n": state["n"] + len(known), "s": state["s"] + (pc.sum(pc.ln(known)).as_py() or 0.0)}


def both(one: State, other: State) -> State:
    return {name: one[name] + other[name] for name in one}


def geometric(update: Callable[..., Any] = add) -> UserAggregate:
    return UserAggregate(
        "geo_mean",
        init=lambda: {"n": 0, "s": 0.0},
        update=update,
        merge=both,
        finish=lambda state: math.exp(state["s"] / state["n"]) if state["n"] else None,
        takes=("double",),
        state="struct<n: bigint, s: double>",
        returns="double",
    )


def row(second: int, k: str, x: int | None) -> dict[str, object]:
    return {"ts": BEGIN + timedelta(seconds=second), "k": k, "x": x}


@pytest.mark.parametrize(
    "window",
    [
        "RANGE 4 SECONDS SLIDE 2 SECONDS",
        "SESSION GAP 2 SECONDS",
        "ROWS 3",
        "PARTITION BY k ROWS 2",
        "WHEN count(*) >= 2",
    ],
)
def test_it_answers_as_sparks_own_functions(
    spark: SparkSession, tmp_path: Path, window: str
) -> None:
    shown = "window_start, k, {} AS v FROM readings [{}] GROUP BY k"
    own = "exp(avg(ln(x)) FILTER (WHERE x > 0))"
    with penstock.connect(tmp_path, spark=spark, aggregates=[geometric()]) as ps:
        ps.sql(
            f"{STREAM} CREATE QUERY mine AS SELECT "
            f"{shown.format('geo_mean(x) FILTER (WHERE x > 0)', window)};"
            f"CREATE QUERY sparks AS SELECT {shown.format(own, window)};"
        )
        for second, k, x in (
            (0, "a", 1),
            (1, "b", 5),
            (1, "a", None),
            (3, "a", -4),
            (5, "a", 7),
            (6, "b", 9),
            (7, "a", 3),
            (12, "b", 2),
        ):
            ps.push("readings", [row(second, k, x)])
        ps.end("readings")
        finish(ps)
        assert results(ps, "mine").num_rows > 2
        assert bag(results(ps, "mine")) == bag(results(ps, "sparks"))


def test_a_function_that_raises_holds_its_query_until_it_is_mended(
    spark: SparkSession, tmp_path: Path
) -> None:
    with penstock.connect(tmp_path, spark=spark) as ps:
        made = geometric()
        parts = {each: getattr(made, each) for each in ("init", "merge", "finish", "state")}
        types = {"takes": made.takes, "returns": made.returns}
        ps.aggregate("geo_mean", update=made.update, **parts, **types)
        ps.sql(
            f"{STREAM} CREATE QUERY mine AS "
            "SELECT window_start, geo_mean(x) AS v FROM readings [RANGE 10 SECONDS];"
            "CREATE QUERY other AS "
            "SELECT window_start, sum(x) AS v FROM readings [RANGE 10 SECONDS];"
        )
        ps.push("readings", [row(0, "a", 2)])
        until(ps, lambda: figures(ps, "mine")["rows_in"] == 1)
        ps.push("readings", [row(1, "a", -2)])
        until(ps, lambda: figures(ps, "mine")["state"] == "FAILED")
        cause = figures(ps, "mine")["cause"]
        assert "ValueError: a negative value has no logarithm (train 2 of readings)" in cause
        ps.push("readings", [row(11, "a", 8)])
        until(ps, lambda: results(ps, "other").num_rows == 1)
        ps.sql("RESUME QUERY mine")
        until(ps, lambda: figures(ps, "mine")["state"] == "FAILED")
        ps.aggregate("geo_mean", update=lambda state, x: add(state, pc.abs(x)), **parts, **types)
        ps.sql("RESUME QUERY mine")
        ps.end("readings")
        finish(ps)
        assert [each["v"] for each in results(ps, "mine").to_pylist()] == pytest.approx([2.0, 8.0])
        assert [each["v"] for each in results(ps, "other").to_pylist()] == [0, 8]


def test_queries_come_back_with_the_aggregates_that_connect_is_given(
    spark: SparkSession, tmp_path: Path
) -> None:
    with penstock.connect(tmp_path, spark=spark, aggregates=[geometric()]) as ps:
        ps.sql(
            f"{STREAM} CREATE QUERY q AS "
            "SELECT window_start, geo_mean(x) AS v FROM readings [RANGE 10 SECONDS];"
        )
        ps.push("readings", [row(0, "a", 2)])
        until(ps, lambda: figures(ps, "q")["rows_in"] == 1)
    with penstock.connect(tmp_path, spark=spark, aggregates=[geometric()]) as ps:
        ps.push("readings", [row(1, "a", 8)])
        ps.end("readings")
        finish(ps)
        assert [each["v"] for each in results(ps, "q").to_pylist()] == pytest.approx([4.0])
        once = rows_of(ps.sql("SELECT geo_mean(v * 2) AS g FROM q").table)
        assert once[0]["g"] == pytest.approx(8.0)


def test_what_makes_no_sense_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    with penstock.connect(tmp_path, spark=spark, aggregates=[geometric()]) as ps:
        ps.sql(STREAM)
        for call in ("geo_mean(DISTINCT x)", "geo_mean(x, x)"):
            with pytest.raises(BadQueryError):
                ps.sql(f"CREATE QUERY q AS SELECT {call} AS v FROM readings [RANGE 1 SECOND]")
        made = geometric()
        same = {
            each: getattr(made, each) for each in ("init", "update", "merge", "finish", "takes")
        }
        with pytest.raises(NameTakenError):
            ps.aggregate("sum", **same, state="double", returns="double")
        with pytest.raises(NameTakenError):
            ps.aggregate("geo_mean", **same, state="double", returns="double")
        with pytest.raises(BadOptionError):
            ps.aggregate("geo", **same, state="dubble", returns="double")
        with pytest.raises(BadOptionError):
            ps.aggregate("geo mean", **same, state="double", returns="double")
