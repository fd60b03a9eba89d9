"""Corners of Spark's SQL: names, orders of columns and arguments mean what they mean there."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.client import Connection
from penstock.errors import NotRepeatableError
from tests.e2e.support import finish

pytestmark = pytest.mark.spark

BEGIN = datetime(2026, 3, 1, tzinfo=UTC)
STREAMS = """
    CREATE STREAM a (ts TIMESTAMP, x INT, k INT, m INT, i STRUCT<x: INT, y: INT>)
      TIMESTAMP BY ts FROM push();
    CREATE STREAM b (tb TIMESTAMP, y INT, m INT, k INT) TIMESTAMP BY tb FROM push();
"""
COLUMNS = {"a": "ts TIMESTAMP, x INT, k INT, m INT, i STRUCT<x: INT, y: INT>"}
COLUMNS["b"] = "tb TIMESTAMP, y INT, m INT, k INT"
A = [
    {"x": 10 * n, "k": n % 3, "m": n % 2, "i": {"x": n, "y": -n}, "ts": BEGIN + timedelta(0, n)}
    for n in range(10)
]
B = [{"y": n, "k": n % 4 + 1, "m": n % 2, "tb": BEGIN + timedelta(0, n)} for n in range(6)]
RANGED = "[RANGE 1 HOUR]"
JOINED = [
    f"SELECT * FROM a {RANGED} {kind} JOIN b {RANGED} USING ({keys})"
    for kind in ("", "LEFT", "RIGHT", "FULL")
    for keys in ("m, k", "k, m")
]
JOINED += [
    f"SELECT k, a.k AS ak, b.k AS bk, a.* EXCEPT (k), y "
    f"FROM a {RANGED} {kind} JOIN b {RANGED} USING (k)"
    for kind in ("", "LEFT", "RIGHT", "FULL")
]
JOINED += [f"SELECT * FROM a {RANGED} NATURAL JOIN b {RANGED}"]
WHEN = {
    # An input's name goes before a column's.
    "SELECT count(*) AS n, sum(i.x) AS s FROM a AS i [WHEN sum(i.x) > 5]": lambda row: row["x"],
    "SELECT count(*) AS n, sum(i.x) AS s FROM a [WHEN sum(i.x) > 5]": lambda row: row["i"]["x"],
    "SELECT count(*) AS n, sum(a.i.x) AS s FROM a [WHEN sum(a.i.x) > 5]": lambda row: row["i"]["x"],
    "SELECT count(*) AS n, -sum(i.y) AS s FROM a AS i [WHEN -sum(i.y) > 5]": lambda row: row["i"][
        "x"
    ],
}


@pytest.fixture(scope="module")
def found(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    home: Path = tmp_path_factory.mktemp("corners")
    with penstock.connect(home, spark=spark) as ps:
        ps.sql(STREAMS)
        for number, text in enumerate([*JOINED, *WHEN]):
            ps.sql(f"CREATE QUERY q{number} AS {text}")
        ps.push("a", A)
        ps.push("b", B)
        ps.end("a")
        ps.end("b")
        finish(ps)
        yield ps


@pytest.mark.parametrize("text", JOINED)
def test_using_gives_sparks_columns_in_sparks_order(
    found: Connection, spark: SparkSession, text: str
) -> None:
    for name, rows in (("a", A), ("b", B)):
        spark.createDataFrame(rows, COLUMNS[name]).createOrReplaceTempView(name)
    expected = spark.sql(text.replace(RANGED, ""))
    # Two columns of one name stand in no row: those are told apart by AS in the texts above.
    assert len(set(expected.columns)) == len(expected.columns)
    rows = list(found.subscribe(f"q{JOINED.index(text)}"))
    assert sorted(map(_shown, rows)) == sorted(
        _shown(row.asDict(recursive=True)) for row in expected.collect()
    )


def _shown(row: Mapping[str, Any]) -> str:
    """Return a row as text, its columns in order and its times in UTC."""
    values = (v.astimezone(UTC) if isinstance(v, datetime) else v for v in row.values())
    return str(list(zip(row, values, strict=True)))


@pytest.mark.parametrize("text", WHEN)
def test_a_name_in_when_is_an_inputs_before_it_is_a_columns(found: Connection, text: str) -> None:
    windows, values = [], list[int]()
    for row in A:
        values.append(WHEN[text](row))
        if sum(values) > 5:
            windows.append({"n": len(values), "s": sum(values)})
            values = []
    rows = list(found.subscribe(f"q{len(JOINED) + list(WHEN).index(text)}"))
    assert sorted(map(_shown, rows)) == sorted(map(_shown, windows))


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("SELECT k,\n  x + rand() AS r FROM a", 2, 7),
        ("SELECT x AS rand, 'rand()' AS t\n FROM a WHERE x > rand()", 2, 19),
        ("SELECT k FROM a WHERE\n ts > current_timestamp", 2, 7),
        ("SELECT k, 'x' AS t FROM a WHERE\n ts > 'yesterday'", 2, 7),
        ("SELECT count(*) AS n FROM a [WHEN\n sum(x * `randn`()) > 3]", 2, 10),
        (f"SELECT count(*) AS n FROM a {RANGED}\nHAVING count(*) > shuffle(array(1))[0]", 2, 19),
    ],
)
def test_what_changes_is_told_where_it_stands(
    found: Connection, text: str, line: int, column: int
) -> None:
    for statement in (f"CREATE QUERY no AS {text}", f"SHOW QUERIES;\n\nCREATE QUERY no AS {text}"):
        with pytest.raises(NotRepeatableError) as caught:
            found.sql(statement)
        assert caught.value.place is not None
        before = statement.count("\n") - text.count("\n")
        assert (caught.value.place.line, caught.value.place.column) == (line + before, column)


def test_events_rules_and_generators_tell_their_calls_too(found: Connection) -> None:
    for text in (
        "CREATE EVENT no AS SELECT x MASK x >\n rand() FROM a",
        "CREATE RULE no ON a WHEN x >\n rand() DO INSERT INTO a SELECT *",
        "PUNCTUATE a WHERE x =\n rand()",
        "CREATE STREAM no (v DOUBLE) FROM generator(rows => 1, v =>\n rand())",
    ):
        with pytest.raises(NotRepeatableError) as caught:
            found.sql(text)
        assert caught.value.place is not None
        assert (caught.value.place.line, caught.value.place.column) == (2, 2)
