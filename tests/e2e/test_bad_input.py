"""What is wrong gets a code and a place, and changes nothing."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.client import Connection
from penstock.errors import PenstockError
from tests.e2e.plain_stream import S, delivered, row
from tests.e2e.support import (
    figures,
    rows_of,
    stream_figures,
    until,
    write_json,
)

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def standing(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    """A system with something of every kind, which no wrong statement changes."""
    place = tmp_path_factory.mktemp("standing")
    write_json(place / "t.json", [{"k": "a", "v": 1}])
    with penstock.connect(place / "home", spark=spark) as ps:
        ps.script(
            S
            + "CREATE STREAM other (ts TIMESTAMP, m MAP<STRING, INT>) TIMESTAMP BY ts FROM push();"
            f"CREATE TABLE t FROM files(path => '{place / 't.json'}', format => 'json');"
            "CREATE QUERY q AS SELECT ts, k, n FROM s WHERE n > 0;"
            "CREATE QUERY r AS SELECT ts, k FROM q"
        )
        before = [
            rows_of(ps.sql(f"SHOW {what}").table) for what in ("STREAMS", "TABLES", "QUERIES")
        ]
        yield ps
        after = [rows_of(ps.sql(f"SHOW {what}").table) for what in ("STREAMS", "TABLES", "QUERIES")]
        names = [[next(iter(each.values())) for each in rows] for rows in before]
        assert names == [[next(iter(each.values())) for each in rows] for rows in after]
        assert figures(ps, "r")["state"] == "RUNNING"


QUERY = "CREATE QUERY x AS "
# A SELECT after CREATE QUERY x AS, the error's code, and its place in the whole text.
WRONG_QUERIES = (
    ("SELECT FROM s", "SQL_SYNTAX", (1, 26)),
    ("SELECT n FROM s WHERE (n > 0", "SQL_SYNTAX", (1, 41)),
    ("SELECT n FROM nowhere", "UNKNOWN_NAME", (1, 33)),
    ("SELECT n\nFROM s JOIN nothing AS y ON s.k = y.k", "UNKNOWN_NAME", (2, 13)),
    ("SELECT m FROM s", "UNKNOWN_COLUMN", (1, 26)),
    ("SELECT n FROM s\n WHERE kk = 'a'", "UNKNOWN_COLUMN", (2, 8)),
    ("SELECT count(zz) AS c FROM s [RANGE 1 SECOND]", "UNKNOWN_COLUMN", (1, 32)),
    ("SELECT t.zz FROM s JOIN t ON s.k = t.k", "UNKNOWN_COLUMN", (1, 28)),
    ("SELECT frobnicate(n) AS f FROM s", "UNKNOWN_FUNCTION", None),
    ("SELECT n FROM s INTO file(path => 'x')", "UNKNOWN_CONNECTOR", None),
    ("SELECT n FROM s INTO files(pth => 'x')", "UNKNOWN_OPTION", None),
    ("SELECT n FROM s INTO files(format => 'json')", "BAD_OPTION", None),
    ("SELECT n FROM s INTO files(path => 'x', format => 'xml')", "BAD_OPTION", None),
    ("SELECT n FROM s WHERE n + 1", "TYPE_MISMATCH", None),
    ("SELECT array(1) + n AS y FROM s", "TYPE_MISMATCH", None),
    ("SELECT count(*) AS c FROM s [RANGE 0 SECONDS]", "BAD_WINDOW", (1, 47)),
    ("SELECT count(*) AS c FROM s\n[RANGE -1 SECONDS]", "BAD_WINDOW", (2, 1)),
    ("SELECT count(*) AS c FROM s [RANGE 1 SECOND SLIDE 0 SECONDS]", "BAD_WINDOW", (1, 47)),
    ("SELECT count(*) AS c FROM s [RANGE 1 MONTH]", "BAD_WINDOW", None),
    ("SELECT count(*) AS c FROM s", "BAD_QUERY", None),
    ("SELECT n, count(*) AS c FROM s [RANGE 1 SECOND]", "BAD_QUERY", (1, 26)),
    ("SELECT v FROM t", "BAD_QUERY", None),
    ("SELECT 1 AS one", "BAD_QUERY", None),
    ("SELECT n, n FROM s", "BAD_QUERY", None),
    ("SELECT k FROM s JOIN t ON s.k = t.k", "BAD_QUERY", (1, 26)),
    ("SELECT s.n FROM s RIGHT JOIN t ON s.k = t.k", "BAD_QUERY", None),
    ("SELECT count(*) AS c FROM r2 [RANGE 1 SECOND]", "UNKNOWN_NAME", (1, 45)),
    ("SELECT * FROM x", "CYCLE", None),
    ("SELECT s.n FROM s JOIN q ON s.k = q.k", "BAD_QUERY", None),
    ("SELECT count(*) AS c FROM s [ROWS 0]", "BAD_WINDOW", (1, 47)),
    ("SELECT count(*) AS c FROM s [BEGIN 1 END 10 HOP (0, 0)]", "BAD_WINDOW", (1, 47)),
    ("SELECT count(*) AS c FROM s [BEGIN 1 END 10 HOP (1, 1) UNTIL 5]", "BAD_WINDOW", (1, 47)),
    ("SELECT count(*) AS c FROM s [WHEN n > 9]", "BAD_WINDOW", None),
    ("SELECT s.n FROM s [RANGE 1 SECOND] JOIN q ON s.k = q.k", "BAD_QUERY", None),
    ("SELECT count(*) + k AS c FROM s [RANGE 1 SECOND]", "BAD_QUERY", None),
    ("SELECT DISTINCT n FROM s", "BAD_QUERY", None),
    ("SELECT n FROM s ORDER BY n", "BAD_QUERY", None),
    ("SELECT n FROM s LIMIT 3", "BAD_QUERY", None),
    ("SELECT n FROM s UNION SELECT n FROM s", "BAD_QUERY", None),
    ("SELECT sum(n) OVER () AS y FROM s", "BAD_QUERY", None),
    ("SELECT grouping(n) AS c FROM s [RANGE 1 SECOND] GROUP BY CUBE (k)", "BAD_QUERY", None),
    ("SELECT n FROM s WHERE n IN (SELECT v FROM t WHERE zz = 1)", "UNKNOWN_COLUMN", None),
    ("SELECT n FROM s WHERE n IN (SELECT n FROM q)", "BAD_QUERY", (1, 61)),
    ("SELECT n FROM s WHERE n > (SELECT max(n) FROM s)", "BAD_QUERY", None),
    ("SELECT n FROM s WHERE n > (SELECT k, v FROM t)", None, None),
    ("SELECT n FROM s WHERE n > (SELECT max(zz) FROM t)", None, None),
    ("SELECT make_ym_interval(0, n) AS y FROM s", "TYPE_MISMATCH", None),
    ("SELECT max(make_ym_interval(0, n)) AS y FROM s [RANGE 1 SECOND]", "TYPE_MISMATCH", None),
    ("SELECT make_interval(0, 1, 0, n) AS y FROM s", "TYPE_MISMATCH", None),
    # Of these only that they are told in our words: no exception of Spark's own.
    ("SELECT sum(flag) AS y FROM (SELECT ts, n > 0 AS flag FROM s) AS z", None, None),
    ("SELECT max(m) AS c FROM other [RANGE 1 SECOND]", None, None),
    ("SELECT substr(k) AS c FROM s", None, None),
    ("SELECT max(n, k) AS c FROM s [RANGE 1 SECOND]", None, None),
    ("SELECT CAST(n AS FROB) AS c FROM s", None, None),
    ("SELECT explode(array(n)) AS c FROM s WHERE explode(array(n)) = 1", None, None),
    ("SELECT count(*) FILTER (WHERE n) AS c FROM s [RANGE 1 SECOND]", None, None),
    ("SELECT sum(sum(n)) AS c FROM s [RANGE 1 SECOND]", None, None),
    ("SELECT n AS c FROM s WHERE max(n) > 1", None, None),
    ("SELECT first() AS c FROM s [RANGE 1 SECOND]", None, None),
    ("SELECT max_by(n) AS c FROM s [RANGE 1 SECOND]", None, None),
    ("SELECT n FROM s UNION ALL SELECT k, n FROM s", None, None),
    ("SELECT n FROM s UNION ALL SELECT array(k) FROM s", None, None),
    ("SELECT s.n FROM s JOIN t ON s.n = array(t.v)", None, None),
)
WRONG_STATEMENTS = (
    ("SELEC 1", "SQL_SYNTAX", (1, 1)),
    ("CREATE QUERY x AS\n  SELECT n FORM s", "SQL_SYNTAX", (2, 12)),
    ("CREATE STREAM x (a INT) FROM push", "SQL_SYNTAX", (1, 34)),
    ("SELECT * FROM nowhere", "UNKNOWN_NAME", (1, 15)),
    ("SELECT * FROM s.lost", "UNKNOWN_NAME", None),
    ("DROP QUERY nothing", "UNKNOWN_NAME", (1, 1)),
    ("STOP QUERY nothing", "UNKNOWN_NAME", None),
    ("RESUME QUERY nothing", "UNKNOWN_NAME", None),
    ("EXPLAIN nothing", "UNKNOWN_NAME", None),
    ("DESCRIBE nothing", "UNKNOWN_NAME", None),
    ("SELECT zz FROM s", "UNKNOWN_COLUMN", None),
    ("CREATE STREAM x (a INT) TIMESTAMP BY b FROM push()", "UNKNOWN_COLUMN", None),
    ("SELECT frobnicate(n) FROM s", "UNKNOWN_FUNCTION", None),
    ("CREATE STREAM x (a INT) FROM pusch()", "UNKNOWN_CONNECTOR", None),
    ("CREATE TABLE x FROM push()", "UNKNOWN_CONNECTOR", None),
    ("CREATE STREAM x (a INT) FROM push(speed => 1)", "UNKNOWN_OPTION", None),
    ("CREATE STREAM x (a INT) FROM push(rows_per_train => 'many')", "BAD_OPTION", None),
    ("CREATE STREAM x (a INT) FROM push(rows_per_train => 0)", "BAD_OPTION", None),
    ("CREATE STREAM s (a INT) FROM push()", "NAME_TAKEN", (1, 1)),
    ("CREATE QUERY S AS SELECT n FROM s", "NAME_TAKEN", (1, 1)),
    ("CREATE TABLE q FROM files(path => 'x', format => 'json')", "NAME_TAKEN", (1, 1)),
    ("CREATE QUERY q AS SELECT n FROM s", "NAME_TAKEN", (1, 1)),
    ("CREATE OR REPLACE STREAM q (a INT) FROM push()", "NAME_TAKEN", (1, 1)),
    ("DROP STREAM s", "IN_USE", None),
    ("DROP QUERY q", "IN_USE", None),
    ("CREATE OR REPLACE STREAM s (a INT) FROM push()", "IN_USE", None),
    ("DROP STREAM q", "UNKNOWN_NAME", (1, 1)),
    (
        "CREATE STREAM x (a INT) FROM files(path => '/nowhere/at/all', format => 'json')",
        "SOURCE_FAILED",
        None,
    ),
    ("CREATE TABLE x FROM files(path => '/nowhere.json', format => 'json')", "SOURCE_FAILED", None),
    (
        "CREATE STREAM x (a INT, ts TIMESTAMP) TIMESTAMP BY ts SLACK ADAPTIVE 1.5 FROM push()",
        "BAD_OPTION",
        (1, 70),
    ),
    ("CREATE OR REPLACE QUERY q AS SELECT ts, k, 1 AS n FROM r", None, None),
    ("CREATE STREAM x (a FROB) FROM push()", None, None),
    ("CREATE STREAM x (a INTERVAL YEAR) FROM push()", None, None),
    ("CREATE STREAM x (ts STRING) TIMESTAMP BY ts FROM push()", None, None),
    ("CREATE STREAM x (a INT, A INT) FROM push()", None, None),
    ("SELECT 1/0 FROM t", None, None),
    ("SELECT CAST('a' AS INT) FROM t", None, None),
    ("SELECT v FROM t GROUP BY k", None, None),
)
WRONG = (
    *((f"{QUERY}{select}", code, place) for select, code, place in WRONG_QUERIES),
    *WRONG_STATEMENTS,
)


@pytest.mark.parametrize(("text", "code", "place"), WRONG, ids=[text for text, _, _ in WRONG])
def test_what_is_wrong_is_told_with_a_code_and_a_place_and_changes_nothing(
    text: str, code: str | None, place: tuple[int, int] | None, standing: Connection
) -> None:
    with pytest.raises(PenstockError) as caught:
        standing.sql(text)
    error = caught.value
    assert error.message
    assert "Exception" not in error.message
    assert "\n" not in error.message
    if code is not None:
        assert error.code == code, str(error)
    if place is not None:
        assert error.place is not None, str(error)
        assert (error.place.line, error.place.column) == place, str(error)


def test_a_replaced_query_may_not_come_to_read_itself(spark: SparkSession, tmp_path: Path) -> None:
    with penstock.connect(tmp_path, spark=spark) as ps:
        ps.script(S + "CREATE QUERY a AS SELECT n FROM s; CREATE QUERY b AS SELECT n FROM a")
        with pytest.raises(PenstockError) as caught:
            ps.sql("CREATE OR REPLACE QUERY a AS SELECT n FROM b")
        assert caught.value.code in ("CYCLE", "IN_USE")
        ps.sql("DROP QUERY b")
        with pytest.raises(PenstockError) as caught:
            ps.sql("CREATE OR REPLACE QUERY a AS SELECT n FROM a")
        assert caught.value.code == "CYCLE"
        ps.push("s", [row(1)])
        until(ps, lambda: len(delivered(ps, "a")) == 1)


def test_a_wrong_statement_of_a_script_has_its_place_and_takes_back_what_stood_before_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    with penstock.connect(tmp_path, spark=spark) as ps:
        with pytest.raises(PenstockError) as caught:
            ps.script(S + "CREATE QUERY a AS SELECT n FROM s;\nCREATE QUERY b AS SELECT m FROM s")
        assert caught.value.code == "UNKNOWN_COLUMN"
        assert caught.value.place is not None
        assert (caught.value.place.line, caught.value.place.column) == (2, 26)
        for show in ("STREAMS", "QUERIES"):
            assert rows_of(ps.sql(f"SHOW {show}").table) == []


@pytest.mark.parametrize(
    "bad",
    [
        {"ts": "2026-01-01T00:00:00Z", "k": "a", "n": "many"},
        {"ts": None, "k": "a", "n": 1},
        {"ts": "2026-01-01T00:00:00Z", "k": "a", "n": 2**40},
        {"ts": "2026-01-01T00:00:00Z", "k": "a", "n": 1, "z": 1},
    ],
    ids=["type", "time", "range", "column"],
)
def test_a_push_with_a_row_that_does_not_fit_is_refused_whole(
    bad: dict[str, Any], standing: Connection
) -> None:
    before = stream_figures(standing, "s")["rows"]
    with pytest.raises(PenstockError) as caught:
        standing.push("s", [row(1), bad])
    assert caught.value.code == "BAD_ROW"
    assert stream_figures(standing, "s")["rows"] == before
