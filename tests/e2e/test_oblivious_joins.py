"""Joins without windows, SQL in and rows out: what they give is the batch join of all input."""

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.client import Connection
from penstock.errors import PenstockError
from tests.e2e.support import finish, results, rows_of
from tests.examples import NIGHTLY

pytestmark = pytest.mark.spark

COLUMNS = "(epoch BIGINT, v INT)"
BATCH = 150
Given = list[dict[str, Any]]


@pytest.fixture
def ps(spark: SparkSession, tmp_path: Path) -> Iterator[Connection]:
    with penstock.connect(tmp_path / "home", spark=spark) as connection:
        yield connection


def scrambled(seed: int, rows: int, far: int, copies: int = 1, missing: float = 0.2) -> Given:
    """Return tuples of which none is more than about `far` places out of order."""
    drawn = random.Random(seed)
    keys = [at // copies for at in range(rows) if drawn.random() > missing]
    keys.sort(key=lambda key: key + drawn.random() * far / copies)
    return [{"epoch": key, "v": at} for at, key in enumerate(keys)]


def flow(ps: Connection, given: dict[str, Given], seed: int = 0, ahead: str = "") -> None:
    """Push all tuples in trains that come in some order; those of one stream far ahead."""
    drawn = random.Random(seed)
    left = {name: list(rows) for name, rows in given.items()}
    while any(left.values()):
        names = [name for name in left if left[name]]
        name = ahead if left.get(ahead) else drawn.choice(names)
        count = drawn.randint(1, BATCH)
        ps.push(name, left[name][:count])
        del left[name][:count]
        if drawn.random() < 0.2:
            ps.wait(0.02)
    for name in given:
        ps.end(name)
    finish(ps)


def stream(ps: Connection, name: str, order: str = "") -> None:
    ps.sql(f"CREATE STREAM {name} {COLUMNS} ORDERED BY epoch {order} FROM push()")


def answers(ps: Connection, query: str) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row.values()) for row in results(ps, query).to_pylist())


def batch(spark: SparkSession, given: dict[str, Given], select: str) -> Counter[tuple[Any, ...]]:
    """Return what Spark answers over all of the input."""
    for name, rows in given.items():
        tuples = [(row["epoch"], row["v"]) for row in rows]
        spark.createDataFrame(tuples, "epoch BIGINT, v INT").createOrReplaceTempView(name)
    try:
        return Counter(tuple(row) for row in spark.sql(select).collect())
    finally:
        for name in given:
            spark.catalog.dropTempView(name)


KINDS = {
    "both": "SELECT a.epoch, a.v, b.v AS w FROM a JOIN b ON a.epoch = b.epoch",
    "picked": "SELECT a.epoch, a.v FROM a, b WHERE a.epoch = b.epoch AND a.v % 2 = 0 AND b.v > a.v",
    "lefts": "SELECT a.epoch, a.v, b.v AS w FROM a LEFT JOIN b ON a.epoch = b.epoch AND b.v > 50",
    "rights": "SELECT a.v, b.v AS w FROM a RIGHT JOIN b USING (epoch)",
    "alls": "SELECT a.v, b.v AS w FROM a FULL JOIN b ON b.epoch = a.epoch",
    "there": "SELECT a.epoch, a.v FROM a LEFT SEMI JOIN b ON a.epoch = b.epoch",
    "missing": "SELECT a.epoch, a.v FROM a LEFT ANTI JOIN b ON a.epoch = b.epoch",
}


@pytest.mark.parametrize("ahead", [pytest.param("", marks=NIGHTLY), "a"])
def test_every_kind_is_the_batch_join_of_the_whole_input(
    ps: Connection, spark: SparkSession, ahead: str
) -> None:
    given = {"a": scrambled(1, 400, 30, copies=2), "b": scrambled(2, 400, 60)}
    stream(ps, "a", "SCRAMBLED 80 DUPLICATES 2")
    stream(ps, "b", "SCRAMBLED 140")
    for name, select in KINDS.items():
        ps.sql(f"CREATE QUERY {name} AS {select}")
    flow(ps, given, ahead=ahead)
    for name, select in KINDS.items():
        assert answers(ps, name) == batch(spark, given, select), name


@pytest.mark.parametrize("strategy", ["plain", "msf", "dbf", "hybrid"])
def test_a_strategy_changes_no_row(ps: Connection, spark: SparkSession, strategy: str) -> None:
    given = {"a": scrambled(3, 3000, 30), "b": scrambled(4, 600, 60)}
    stream(ps, "a", "SCRAMBLED 80 RATE 1000")
    stream(ps, "b", "SCRAMBLED 140 RATE 1000")
    for name in ("both", "missing"):
        ps.sql(f"CREATE QUERY {name} WITH (strategy => '{strategy}') AS {KINDS[name]}")
    flow(ps, given, ahead="a")
    for name in ("both", "missing"):
        assert answers(ps, name) == batch(spark, given, KINDS[name]), name


def test_sorted_first_rows_come_in_order(ps: Connection) -> None:
    stream(ps, "a", "SCRAMBLED 80")
    stream(ps, "b", "SCRAMBLED 80")
    ps.sql(f"CREATE QUERY both WITH (strategy => 'msf') AS {KINDS['both']}")
    flow(ps, {"a": scrambled(5, 300, 30), "b": scrambled(6, 300, 30)})
    epochs = results(ps, "both")["epoch"].to_pylist()
    assert epochs == sorted(epochs)
    assert len(epochs) > 100


def test_three_streams_meet_by_one_key_and_through_each_other(
    ps: Connection, spark: SparkSession
) -> None:
    given = {name: scrambled(at, 300, 25) for at, name in enumerate("abc")}
    for name in given:
        stream(ps, name, "SCRAMBLED 60 DUPLICATES 1")
    selects = {
        "at_once": "SELECT a.v, b.v AS w, c.v AS x FROM a, b, c "
        "WHERE a.epoch = b.epoch AND b.epoch = c.epoch",
        "shared": "SELECT epoch, a.v, c.v AS x FROM a JOIN b USING (epoch) JOIN c USING (epoch)",
        "piped": "SELECT ab.epoch, ab.v, c.v AS x FROM (SELECT a.epoch, a.v FROM a "
        "JOIN b ON a.epoch = b.epoch) AS ab JOIN c ON ab.epoch = c.epoch",
    }
    for name, select in selects.items():
        ps.sql(f"CREATE QUERY {name} AS {select}")
    flow(ps, given)
    for name, select in selects.items():
        assert answers(ps, name) == batch(spark, given, select), name


def test_times_order_streams_as_numbers_do(ps: Connection) -> None:
    for name in "ab":
        ps.sql(
            f"CREATE STREAM {name} (ts TIMESTAMP, day DATE, v INT) ORDERED BY "
            f"{'ts' if name == 'a' else 'ts SCRAMBLED 5'} FROM push()"
        )
    ps.sql("CREATE QUERY met AS SELECT a.v, b.v AS w FROM a JOIN b ON a.ts = b.ts")
    rows = [{"ts": f"2026-01-01T00:00:{at:02}Z", "day": None, "v": at} for at in range(10)]
    flow(ps, {"a": rows, "b": [*rows[3:6], *rows[:3]]})
    assert answers(ps, "met") == Counter((at, at) for at in range(6))


def test_what_is_measured_is_kept_with_a_margin(ps: Connection, spark: SparkSession) -> None:
    given = {"a": scrambled(7, 600, 20), "b": scrambled(8, 600, 20)}
    stream(ps, "a")
    stream(ps, "b")
    ps.sql(f"CREATE QUERY both AS {KINDS['both']}")
    flow(ps, given)
    assert answers(ps, "both") == batch(spark, given, KINDS["both"])


def test_a_tuple_further_out_of_place_than_stated_is_late(ps: Connection) -> None:
    stream(ps, "a", "SCRAMBLED 2")
    stream(ps, "b", "SCRAMBLED 2")
    ps.sql(f"CREATE QUERY both AS {KINDS['both']}")
    rows = [{"epoch": at, "v": at} for at in range(10)]
    flow(ps, {"a": [*rows[1:], rows[0]], "b": rows})
    assert answers(ps, "both") == Counter((at, at, at) for at in range(1, 10))
    late = rows_of(ps.sql("SELECT * FROM both.late").table)
    assert [(row["epoch"], row["v"]) for row in late] == [(0, 0)]


def test_tuples_without_a_key_meet_nobody(ps: Connection) -> None:
    stream(ps, "a", "SCRAMBLED 0")
    stream(ps, "b", "SCRAMBLED 0")
    for name in ("both", "missing"):
        ps.sql(f"CREATE QUERY {name} AS {KINDS[name]}")
    rows = [{"epoch": 1, "v": 1}, {"epoch": None, "v": 2}]
    flow(ps, {"a": rows, "b": rows})
    assert answers(ps, "both") == Counter({(1, 1, 1): 1})
    assert answers(ps, "missing") == Counter({(None, 2): 1})


def test_equal_joins_are_one_and_other_strategies_are_others(ps: Connection) -> None:
    stream(ps, "a")
    stream(ps, "b")
    ps.sql(f"CREATE QUERY one AS {KINDS['both']}")
    ps.sql(f"CREATE QUERY same AS {KINDS['both']}")
    units = {row["unit"] for row in rows_of(ps.sql("SHOW UNITS").table)}
    ps.sql(f"CREATE QUERY other WITH (strategy => 'msf') AS {KINDS['both']}")
    assert (len(units), len(rows_of(ps.sql("SHOW UNITS").table))) == (1, 2)


@pytest.mark.parametrize(
    ("select", "code"),
    [
        ("SELECT a.v FROM a JOIN plain AS p ON a.epoch = p.epoch", "BAD_QUERY"),
        ("SELECT a.v FROM a JOIN b ON a.v = b.v", "BAD_QUERY"),
        ("SELECT a.v FROM a JOIN b ON a.epoch < b.epoch", "BAD_QUERY"),
        ("SELECT a.v FROM a JOIN timed AS t ON a.epoch = t.ts", "BAD_QUERY"),
        (
            "SELECT a.v FROM a LEFT JOIN b ON a.epoch = b.epoch JOIN c ON c.epoch = a.epoch",
            "BAD_QUERY",
        ),
        ("SELECT a.v FROM a [ROWS 5] JOIN b ON a.epoch = b.epoch", "BAD_QUERY"),
    ],
)
def test_what_no_order_bounds_is_refused(ps: Connection, select: str, code: str) -> None:
    for name in "abc":
        stream(ps, name)
    ps.sql(f"CREATE STREAM plain {COLUMNS} FROM push()")
    ps.sql("CREATE STREAM timed (ts TIMESTAMP, v INT) ORDERED BY ts FROM push()")
    with pytest.raises(PenstockError) as raised:
        ps.sql(f"CREATE QUERY q AS {select}")
    assert raised.value.code == code
    assert raised.value.hint


def test_memory_is_bounded_by_the_disk(ps: Connection, spark: SparkSession) -> None:
    given = {"a": scrambled(9, 4000, 10), "b": scrambled(10, 4000, 10)}
    stream(ps, "a", "SCRAMBLED 60")
    stream(ps, "b", "SCRAMBLED 60")
    ps.sql(f"CREATE QUERY both WITH (memory => '16 KB') AS {KINDS['both']}")
    for at in range(0, len(given["a"]), 500):
        ps.push("a", given["a"][at : at + 500])
        ps.wait(0.02)
    ps.push("b", given["b"][:400])
    ps.end("a")
    shown = told_join(ps)
    assert shown["a"]["disk_rows"] > 1000
    assert sum(each["memory_bytes"] for each in shown.values()) <= 16 << 10
    flow(ps, {"b": given["b"][400:]})
    assert answers(ps, "both") == batch(spark, given, KINDS["both"])


def told_join(ps: Connection) -> dict[str, dict[str, Any]]:
    """Return what SHOW JOINS says of each input."""
    ps.wait(0.5)
    return {row["input"]: row for row in rows_of(ps.sql("SHOW JOINS").table)}


def test_what_is_kept_and_predicted_is_shown_and_explained(ps: Connection) -> None:
    stream(ps, "a", "SCRAMBLED 3 DUPLICATES 2 RATE 10")
    stream(ps, "b")
    ps.sql(f"CREATE QUERY both WITH (strategy => 'dbf') AS {KINDS['both']}")
    ps.push("a", [{"epoch": at, "v": at} for at in range(50)])
    ps.push("b", [{"epoch": at, "v": at} for at in range(20)])
    shown = told_join(ps)
    assert (shown["a"]["scrambled"], shown["a"]["how"], shown["a"]["rate"]) == (3, "stated", 10)
    assert (shown["b"]["scrambled"], shown["b"]["how"], shown["b"]["duplicates"]) == (
        64,
        "measured",
        1,
    )
    assert (shown["a"]["lag"], shown["a"]["lag_to"], shown["b"]["lag"]) == (30, "b", 0)
    assert (shown["a"]["memory_rows"], shown["b"]["memory_rows"]) == (50, 0)
    assert shown["a"]["predicted_plain"] > 30 + 3
    assert shown["a"]["accuracy"] == 1.0
    text = ps.sql("EXPLAIN both").message
    assert "without a window, in the order of epoch SCRAMBLED 3" in text
    assert "tuples in memory of a, b: 50, 0" in text
    assert "predicted dbf:" in text


def test_a_definition_comes_back_as_it_was_written(
    ps: Connection, spark: SparkSession, tmp_path: Path
) -> None:
    stream(ps, "a", "SCRAMBLED 3 DUPLICATES 2 RATE 10")
    stream(ps, "b")
    ps.sql(f"CREATE QUERY both WITH (strategy => 'dbf', memory => '1 MB') AS {KINDS['both']}")
    ps.sql("ALTER QUERY both SET (weight => 2)")
    ps.push("a", [{"epoch": at, "v": at} for at in range(50)])
    before = told_join(ps)
    ps.close()
    with penstock.connect(tmp_path / "home", spark=spark) as again:
        assert told_join(again) == before
        (text,) = (
            row["sql"]
            for row in rows_of(again.sql("SHOW DEFINITIONS").table)
            if row["name"] == "both"
        )
        assert "strategy => 'dbf', memory => '1048576 B'" in text
