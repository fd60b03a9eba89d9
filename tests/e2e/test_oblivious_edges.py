"""Joins without windows where keys, orders, inputs and trains are not the usual ones."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.client import Connection
from penstock.errors import PenstockError
from penstock.runtime.loop.supervisor import Settings
from penstock.runtime.work.run_limits import RunLimits
from tests.e2e.support import figures, rows_of, until
from tests.e2e.test_oblivious_joins import KINDS, answers, batch, flow, scrambled, stream

pytestmark = pytest.mark.spark

LEAST, MOST = -(2**63), 2**63 - 1


@pytest.fixture
def ps(spark: SparkSession, tmp_path: Path) -> Iterator[Connection]:
    with penstock.connect(tmp_path / "home", spark=spark) as connection:
        yield connection


def test_the_least_and_the_greatest_keys_meet_like_others(
    ps: Connection, spark: SparkSession
) -> None:
    stream(ps, "a", "SCRAMBLED 1")
    stream(ps, "b", "SCRAMBLED 1")
    for name in ("lefts", "missing", "both"):
        ps.sql(f"CREATE QUERY {name} AS {KINDS[name]}")
    keys = (LEAST, LEAST + 1, -7, 0, MOST - 1, MOST)
    given = {name: [{"epoch": key, "v": 60} for key in keys] for name in "ab"}
    flow(ps, given, ahead="a")
    for name in ("lefts", "missing", "both"):
        assert answers(ps, name) == batch(spark, given, KINDS[name]), name


def test_what_was_passed_stays_passed_when_the_measured_factor_grows(ps: Connection) -> None:
    """Partners of 50 and 60 are gone: neither may be said to have had none."""
    stream(ps, "a")
    stream(ps, "b")
    ps.sql(f"CREATE QUERY missing AS {KINDS['missing']}")
    for taken, name in enumerate("ab", start=1):
        ps.push(name, [{"epoch": at, "v": at} for at in range(200)])
        until(ps, lambda taken=taken: figures(ps, "missing")["rows_in"] == 200 * taken)
    for late, key in enumerate((50, 60), start=1):
        ps.push("a", [{"epoch": key, "v": key}])
        until(ps, lambda late=late: figures(ps, "missing")["late_rows"] == late)
    flow(ps, {"a": [], "b": []})
    assert answers(ps, "missing") == Counter()
    late = rows_of(ps.sql("SELECT * FROM missing.late").table)
    assert sorted(row["epoch"] for row in late) == [50, 60]


def test_more_than_ten_streams_meet(ps: Connection) -> None:
    """The names of inputs have two digits."""
    names = [f"s{at}" for at in range(12)]
    for name in names:
        ps.sql(f"CREATE STREAM {name} (n BIGINT, {name}_v INT) ORDERED BY n FROM push()")
    on = " ".join(f"JOIN {name} ON s0.n = {name}.n" for name in names[1:])
    ps.sql(f"CREATE QUERY met AS SELECT s0.n, s1_v, s10_v, s11_v FROM s0 {on}")
    flow(ps, {name: [{"n": 1, f"{name}_v": at}] for at, name in enumerate(names)})
    assert answers(ps, "met") == Counter([(1, 1, 10, 11)])


def test_trains_that_stay_with_the_tasks_come_in_order(spark: SparkSession, tmp_path: Path) -> None:
    limits = RunLimits(driver_rows=0, large_rows=0, large_bytes=0)
    given = {"a": scrambled(11, 500, 20), "b": scrambled(12, 500, 20)}
    with penstock.connect(
        tmp_path / "home", spark=spark, settings=Settings(limits=limits)
    ) as connection:
        for name in given:
            stream(connection, name, "SCRAMBLED 60 DUPLICATES 1")
        connection.sql(f"CREATE QUERY both AS {KINDS['both']}")
        # Were rows to change places on their way, they would be late here.
        again = "SELECT x.epoch, x.v, y.v AS w FROM both AS x JOIN b AS y ON x.epoch = y.epoch"
        connection.sql(f"CREATE QUERY again AS {again}")
        flow(connection, given)
        assert answers(connection, "both") == batch(spark, given, KINDS["both"])
        assert rows_of(connection.sql("SELECT * FROM again.late").table) == []
        assert len(answers(connection, "again")) == len(answers(connection, "both"))


def test_a_pipeline_joins_by_another_attribute(ps: Connection, spark: SparkSession) -> None:
    """Query 3 of the thesis: S7 and S8 are joins by one column, and meet by another."""
    given = {name: [] for name in ("p", "q", "r", "s")}
    for at, name in enumerate(given):
        for row in scrambled(20 + at, 300, 10):
            given[name].append({"n": row["epoch"], "m": row["epoch"] + row["v"] % 4, "v": row["v"]})
    for name in given:
        ps.sql(
            f"CREATE STREAM {name} (n BIGINT, m BIGINT, v INT) ORDERED BY n SCRAMBLED 30 "
            "DUPLICATES 1, m SCRAMBLED 40 FROM push()"
        )
    select = (
        "SELECT x.n, y.n AS k, x.v, y.v AS w FROM (SELECT p.n, p.m, q.v FROM p JOIN q ON p.n = q.n)"
        " AS x JOIN (SELECT r.n, r.m, s.v FROM r JOIN s ON r.n = s.n) AS y ON x.m = y.m"
    )
    ps.sql(f"CREATE QUERY q3 AS {select}")
    told = {row["key"]: row["how"] for row in rows_of(ps.sql("SHOW JOINS").table)}
    assert told == {"n": "stated", "m": "stated"}
    flow(ps, given, ahead="s")
    for name, rows in given.items():
        tuples = [tuple(row.values()) for row in rows]
        spark.createDataFrame(tuples, "n BIGINT, m BIGINT, v INT").createOrReplaceTempView(name)
    assert answers(ps, "q3") == Counter(tuple(row) for row in spark.sql(select).collect())
    assert len(answers(ps, "q3")) > 100


@pytest.mark.parametrize("order", ["n, n", "n SCRAMBLED 3, N", "n,", ", n", "n SCRAMBLED 3, x"])
def test_an_order_that_is_no_list_of_columns_is_refused(ps: Connection, order: str) -> None:
    with pytest.raises(PenstockError) as raised:
        ps.sql(f"CREATE STREAM a (n BIGINT, m BIGINT) ORDERED BY {order} FROM push()")
    assert raised.value.code in ("SQL_SYNTAX", "UNKNOWN_COLUMN")
