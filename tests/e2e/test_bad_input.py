"""What is wrong gets a code and a place; what fails at work is held, told of, and mended."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.client import Connection
from penstock.engine.processor import Processor
from penstock.engine.rows import Rows
from penstock.errors import DiskFullError, PenstockError, RunError
from penstock.runtime import live_query, readiness
from tests.e2e.support import (
    PATIENCE,
    figures,
    finish,
    results,
    rows_of,
    shown,
    stream_figures,
    write_json,
)

pytestmark = pytest.mark.spark

S = "CREATE STREAM s (ts TIMESTAMP, k STRING, n INT) TIMESTAMP BY ts FROM push();"


def until(ps: Connection, holds: Callable[[], bool]) -> None:
    """Wait for something to hold."""
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline, shown(ps)
        time.sleep(0.02)


def row(second: int, n: int | None = 1, k: str = "a") -> dict[str, Any]:
    return {"ts": f"2026-01-01T00:{second // 60:02d}:{second % 60:02d}Z", "k": k, "n": n}


def delivered(ps: Connection, query: str) -> list[dict[str, Any]]:
    return list(results(ps, query).to_pylist())


# -- what is wrong with a text -----------------------------------------------------------


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
    ("SELECT count(*) AS c FROM s [RANGE 1 SECOND SLIDE 2 SECONDS]", "BAD_WINDOW", (1, 47)),
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
    ("SELECT * FROM nowhere", "UNKNOWN_NAME", None),
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


def test_what_stands_before_a_wrong_statement_of_a_script_stays(
    spark: SparkSession, tmp_path: Path
) -> None:
    with penstock.connect(tmp_path, spark=spark) as ps:
        with pytest.raises(PenstockError) as caught:
            ps.script(S + "CREATE QUERY a AS SELECT n FROM s;\nCREATE QUERY b AS SELECT m FROM s")
        assert caught.value.code == "UNKNOWN_COLUMN"
        assert caught.value.place is not None
        assert (caught.value.place.line, caught.value.place.column) == (2, 26)
        ps.push("s", [row(1)])
        until(ps, lambda: len(delivered(ps, "a")) == 1)
        with pytest.raises(PenstockError) as caught:
            ps.subscribe("b")
        assert caught.value.code == "UNKNOWN_NAME"


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


# -- what fails at work ------------------------------------------------------------------


def test_rows_of_a_file_that_do_not_fit_are_counted_and_kept_and_the_stream_goes_on(
    spark: SparkSession, tmp_path: Path
) -> None:
    good = [json.dumps(row(second)) for second in range(6)]
    bad = ['{"ts": "2026-01-01T00:00:01Z", "n": "x"}', "{broken", '{"k": "b", "n": 1}', "[1, 2]"]
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.json").write_text("\n".join([*good[:3], *bad, *good[3:]]) + "\n")
    with penstock.connect(tmp_path / "home", spark=spark) as ps:
        ps.script(
            "CREATE STREAM s (ts TIMESTAMP, k STRING, n INT) TIMESTAMP BY ts FROM "
            f"files(path => '{tmp_path / 'in'}', format => 'json', bounded => true, "
            "rows_per_train => 4);"
            "CREATE QUERY q AS SELECT n FROM s"
        )
        finish(ps)
        assert len(delivered(ps, "q")) == 6
        assert stream_figures(ps, "s")["rejected"] == 4
        kept = rows_of(ps.sql("SELECT raw, reason FROM s.rejects").table)
        assert [each["raw"] for each in kept] == bad
        assert all(each["reason"] for each in kept)


def test_a_sink_that_fails_holds_its_query_alone_and_after_mending_nothing_is_lost_or_twice(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_query, "RETRY_SECONDS", (0.01, 0.01))
    blocked = tmp_path / "blocked"
    blocked.write_text("a file where a directory should be")
    with penstock.connect(tmp_path / "home", spark=spark) as ps:
        ps.script(
            S + f"CREATE QUERY held AS SELECT n FROM s INTO files(path => '{blocked}', "
            "format => 'csv', header => false);"
            "CREATE QUERY free AS SELECT n FROM s"
        )
        ps.push("s", [row(1, 1)])
        until(ps, lambda: figures(ps, "held")["state"] == "FAILED")
        assert "SINK_FAILED" in figures(ps, "held")["cause"]
        for n in range(2, 100):  # more trains than a source may be ahead of its readers
            ps.push("s", [row(n, n)])
            if n % 10 == 0:
                until(ps, lambda n=n: len(delivered(ps, "free")) == n)
        blocked.unlink()
        ps.sql("RESUME QUERY held")
        ps.end("s")
        finish(ps)
        assert figures(ps, "held")["state"] == "FINISHED"
        parts = sorted(blocked.glob("part-*"))
        assert [int(n) for part in parts for n in part.read_text().split()] == [*range(1, 100)]
        assert [each["n"] for each in delivered(ps, "free")] == [*range(1, 100)]


def test_a_sink_that_fails_for_a_moment_is_tried_again(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_query, "RETRY_SECONDS", (0.01, 0.01))
    tries: list[int] = []

    def stumbles(_: pa.Table, number: int) -> None:
        tries.append(number)
        if len(tries) < 3:
            raise OSError("not now")

    with penstock.connect(tmp_path, spark=spark) as ps:
        ps.script(S + "CREATE QUERY q AS SELECT n FROM s")
        ps.callback("q", stumbles)
        ps.push("s", [row(1)])
        ps.end("s")
        finish(ps)
        assert figures(ps, "q")["state"] == "FINISHED"
        assert tries == [1, 1, 1]


def test_a_callback_that_raises_holds_its_query_and_gets_the_same_delivery_after_resume(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_query, "RETRY_SECONDS", (0.01,))
    seen: list[tuple[int, list[int]]] = []
    mended = False

    def call(rows: pa.Table, number: int) -> None:
        if not mended:
            raise ValueError("no")
        seen.append((number, rows["n"].to_pylist()))

    with penstock.connect(tmp_path, spark=spark) as ps:
        ps.script(S + "CREATE QUERY q AS SELECT n FROM s; CREATE QUERY free AS SELECT n FROM s")
        ps.callback("q", call)
        ps.push("s", [row(1, 1), row(2, 2)])
        until(ps, lambda: figures(ps, "q")["state"] == "FAILED")
        assert "ValueError: no" in figures(ps, "q")["cause"]
        until(ps, lambda: len(delivered(ps, "free")) == 2)
        mended = True
        ps.sql("RESUME QUERY q")
        ps.push("s", [row(3, 3)])
        ps.end("s")
        finish(ps)
        assert [number for number, _ in seen] == [*range(1, len(seen) + 1)]
        assert [n for _, values in seen for n in values] == [1, 2, 3]


def test_an_expression_that_fails_at_work_holds_its_query_and_the_others_run_on(
    spark: SparkSession, tmp_path: Path
) -> None:
    with penstock.connect(tmp_path, spark=spark) as ps:
        ps.script(
            S + "CREATE QUERY bad AS SELECT 10 / n AS y FROM s;"
            "CREATE QUERY sums AS SELECT window_start, sum(10 / n) AS y FROM s [RANGE 1 SECOND];"
            "CREATE QUERY good AS SELECT n FROM s"
        )
        ps.push("s", [row(1, 5)])
        until(ps, lambda: len(delivered(ps, "bad")) == 1)
        ps.push("s", [row(2, 0)])
        until(ps, lambda: figures(ps, "bad")["state"] == "FAILED")
        until(ps, lambda: figures(ps, "sums")["state"] == "FAILED")
        for query in ("bad", "sums"):
            assert "RUN_FAILED" in figures(ps, query)["cause"]
            assert "ivision by zero" in figures(ps, query)["cause"]
            assert "Exception" not in figures(ps, query)["cause"]
        for n in range(3, 120):
            ps.push("s", [row(n, n)])
            if n % 10 == 0:
                until(ps, lambda n=n: len(delivered(ps, "good")) == n)
        ps.end("s")
        finish(ps)
        assert figures(ps, "good")["state"] == "FINISHED"
        assert len(delivered(ps, "good")) == 119
        assert figures(ps, "bad")["state"] == "FAILED"


def test_a_new_query_beside_a_held_one_runs_and_the_held_one_can_be_dropped(
    spark: SparkSession, tmp_path: Path
) -> None:
    with penstock.connect(tmp_path, spark=spark) as ps:
        ps.script(S + "CREATE QUERY bad AS SELECT ts, 10 / n AS y FROM s WHERE k = 'a'")
        ps.push("s", [row(1, 0)])
        until(ps, lambda: figures(ps, "bad")["state"] == "FAILED")
        # It shares the filter of the held one: the cut into units becomes another.
        ps.sql("CREATE QUERY good AS SELECT ts, n FROM s WHERE k = 'a'")
        ps.push("s", [row(2, 2)])
        until(ps, lambda: [each["n"] for each in delivered(ps, "good")] in ([2], [0, 2]))
        ps.sql("DROP QUERY bad")
        ps.push("s", [row(3, 3)])
        ps.end("s")
        finish(ps)
        assert figures(ps, "good")["state"] == "FINISHED"
        assert delivered(ps, "good")[-1]["n"] == 3


@pytest.mark.parametrize("fails", ["close", "compact", "leave_memory"])
def test_a_run_that_failed_half_way_counts_nothing_twice(
    fails: str, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readiness, "AGGREGATE_ROWS", 1)
    monkeypatch.setattr("penstock.engine.states.parts.COMPACT_PARTS", 3)
    monkeypatch.setattr("penstock.engine.rows.SMALL_ROWS", 5)  # parts go to disk, and are combined
    owner = Rows if fails == "leave_memory" else Processor
    does, failures = getattr(owner, fails), []

    def fail_twice(*arguments: Any, **options: Any) -> Any:
        if len(failures) < 2:
            failures.append(fails)
            raise DiskFullError("no room") if owner is Rows else RunError("broken")
        return does(*arguments, **options)

    monkeypatch.setattr(owner, fails, fail_twice)
    with penstock.connect(tmp_path, spark=spark) as ps:
        ps.script(
            S.replace("push()", "push(rows_per_train => 1)")
            + "CREATE QUERY c AS SELECT window_start, n, count(*) AS c, sum(n) AS s "
            "FROM s [RANGE 10 MINUTES] GROUP BY n"
        )
        for train in range(8):
            ps.push("s", [row(train * 10 + at, at) for at in range(9)])
        ps.end("s")
        while not ps.wait(0) or figures(ps, "c")["state"] == "FAILED":
            if figures(ps, "c")["state"] == "FAILED":
                ps.sql("RESUME QUERY c")
        assert len(failures) == 2
        assert [(each["c"], each["s"]) for each in delivered(ps, "c")] == [
            (8, 8 * n) for n in range(9)
        ]


def test_a_source_that_goes_away_is_told_of_and_comes_back(
    spark: SparkSession, tmp_path: Path
) -> None:
    source = tmp_path / "in"
    write_json(source / "a.json", [row(1, 1)])
    with penstock.connect(tmp_path / "home", spark=spark) as ps:
        ps.script(
            "CREATE STREAM s (ts TIMESTAMP, k STRING, n INT) TIMESTAMP BY ts FROM "
            f"files(path => '{source}', format => 'json');"
            "CREATE QUERY q AS SELECT n FROM s"
            + ";"
            + S.replace("STREAM s", "STREAM other")
            + "CREATE QUERY o AS SELECT n FROM other"
        )
        until(ps, lambda: len(delivered(ps, "q")) == 1)
        source.rename(tmp_path / "away")
        until(ps, lambda: stream_figures(ps, "s")["state"] == "FAILED")
        assert "SOURCE_FAILED" in stream_figures(ps, "s")["cause"]
        ps.push("other", [row(1)])
        until(ps, lambda: len(delivered(ps, "o")) == 1)
        (tmp_path / "away").rename(source)
        write_json(source / "b.json", [row(2, 2)])
        until(ps, lambda: len(delivered(ps, "q")) == 2)
        assert stream_figures(ps, "s")["state"] == "OPEN"


def test_names_can_be_used_again_after_their_queries_have_ended_or_gone(
    spark: SparkSession, tmp_path: Path
) -> None:
    write_json(tmp_path / "in" / "a.json", [row(second, second) for second in range(30)])
    stream = (
        "CREATE STREAM s (ts TIMESTAMP, k STRING, n INT) TIMESTAMP BY ts FROM "
        f"files(path => '{tmp_path / 'in'}', format => 'json', bounded => true);"
    )
    count = "SELECT window_start, count(*) AS c FROM s [RANGE 10 SECONDS]"
    with penstock.connect(tmp_path / "home", spark=spark) as ps:
        for turn in range(3):
            ps.script(stream + f"CREATE QUERY q AS {count}; CREATE QUERY p AS SELECT c FROM q")
            finish(ps)
            assert [each["c"] for each in delivered(ps, "q")] == [10, 10, 10], turn
            assert len(delivered(ps, "p")) == 3
            ps.script("DROP QUERY p; DROP QUERY q; DROP STREAM s")
    with penstock.connect(tmp_path / "home", spark=spark) as ps:
        ps.script(stream + f"CREATE QUERY q AS {count}")
        finish(ps)
        assert [each["c"] for each in delivered(ps, "q")] == [10, 10, 10]


def test_late_rows_stay_readable_when_another_query_comes_to_share_the_window(
    spark: SparkSession, tmp_path: Path
) -> None:
    with penstock.connect(tmp_path, spark=spark) as ps:
        ps.script(
            S + "CREATE QUERY a AS SELECT window_start, count(*) AS c FROM s [RANGE 1 SECOND]"
        )
        ps.push("s", [row(1, 1), row(9, 2)])
        until(ps, lambda: len(delivered(ps, "a")) == 1)
        ps.push("s", [row(1, 3)])
        until(ps, lambda: figures(ps, "a")["late_rows"] == 1)
        ps.sql("CREATE QUERY b AS SELECT count(*) + 1 AS c FROM s [RANGE 1 SECOND]")
        ps.push("s", [row(2, 4)])
        until(ps, lambda: figures(ps, "a")["late_rows"] == 2)
        late = [each["n"] for each in rows_of(ps.sql("SELECT n FROM a.late").table)]
        assert sorted(late) == [3, 4]
        ps.script("DROP QUERY a; DROP QUERY b")
        ps.sql("CREATE QUERY a AS SELECT window_start, count(*) AS c FROM s [RANGE 1 SECOND]")
        assert rows_of(ps.sql("SELECT n FROM a.late").table) == []


# -- the home ----------------------------------------------------------------------------


def test_a_home_that_another_process_holds_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from penstock.runtime.home import Home;"
        f"home = Home(Path({str(tmp_path)!r})); print('held', flush=True); sys.stdin.read()"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(Path(penstock.__file__).parents[1])},
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(PenstockError) as caught:
            penstock.connect(tmp_path, spark=spark)
        assert caught.value.code == "HOME_BUSY"
        assert str(holder.pid) in caught.value.message
    finally:
        holder.communicate("")
    with penstock.connect(tmp_path, spark=spark) as ps:
        assert ps.sql("SHOW QUERIES").table is not None


def test_a_home_that_is_open_in_this_process_is_refused(
    spark: SparkSession, tmp_path: Path
) -> None:
    with penstock.connect(tmp_path, spark=spark):
        with pytest.raises(PenstockError) as caught:
            penstock.connect(tmp_path, spark=spark)
        assert caught.value.code == "HOME_BUSY"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of four megabytes."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("only root may mount a small disk")
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(disk)]
    made = subprocess.run(mount, capture_output=True, text=True, check=False)
    if made.returncode:
        pytest.skip(f"mounting is not permitted here: {made.stderr.strip()}")
    try:
        yield disk
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def test_a_sink_without_room_holds_its_query_until_there_is_some(
    small_disk: Path, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_query, "RETRY_SECONDS", (0.01,))
    filler = small_disk / "filler"
    fill(filler)
    with penstock.connect(tmp_path / "home", spark=spark) as ps:
        ps.script(
            S + f"CREATE QUERY q AS SELECT n FROM s INTO files(path => '{small_disk / 'out'}', "
            "format => 'csv', header => false); CREATE QUERY free AS SELECT n FROM s"
        )
        ps.push("s", [row(n % 60, n) for n in range(5000)])
        until(ps, lambda: figures(ps, "q")["state"] == "FAILED")
        assert "DISK_FULL" in figures(ps, "q")["cause"]
        until(ps, lambda: len(delivered(ps, "free")) == 5000)
        filler.unlink()
        ps.sql("RESUME QUERY q")
        ps.end("s")
        finish(ps)
        parts = sorted((small_disk / "out").glob("part-*"))
        assert [int(n) for part in parts for n in part.read_text().split()] == [*range(5000)]


def test_a_home_without_room_says_so_and_goes_on_when_there_is_some(
    small_disk: Path, spark: SparkSession, tmp_path: Path
) -> None:
    filler, home, out = small_disk / "filler", small_disk / "home", tmp_path / "out"
    script = S.replace("CREATE STREAM", "CREATE STREAM IF NOT EXISTS") + (
        "CREATE QUERY IF NOT EXISTS q AS SELECT n FROM s "
        f"INTO files(path => '{out}', format => 'csv', header => false)"
    )
    acknowledged: list[int] = []
    ps = penstock.connect(home, spark=spark)
    try:
        ps.script(script)
        ps.push("s", [row(1, 0)])
        acknowledged.append(0)
        until(ps, lambda: len(delivered(ps, "q")) == 1)
        fill(filler)
        with pytest.raises(PenstockError) as caught:
            push_until_it_fails(ps, acknowledged)
        assert caught.value.code == "DISK_FULL", str(caught.value)
    finally:
        filler.unlink(missing_ok=True)
        ps.close()
    with penstock.connect(home, spark=spark) as ps:
        ps.script(script)
        ps.end("s")
        finish(ps)
    parts = sorted(out.glob("part-*"))
    assert [int(n) for part in parts for n in part.read_text().split()] == acknowledged


def push_until_it_fails(ps: Connection, acknowledged: list[int]) -> None:
    while True:
        n = len(acknowledged)
        ps.push("s", [row(1, n, "k" * 100)])
        acknowledged.append(n)
        ps.wait(0)


def fill(path: Path) -> None:
    """Take all the room there is."""
    with path.open("wb", buffering=0) as file:
        for size in (1 << 16, 1 << 12, 512, 1):
            while True:
                try:
                    file.write(b"x" * size)
                except OSError:
                    break
