"""Queries over queries, one-time SELECTs, SHOW and DESCRIBE."""

from pathlib import Path

import pytest

from penstock.client import Connection
from tests.e2e.numbered import (
    QUERIES,
    STREAM,
    Opener,
    arrive,
    at,
    code,
    numbers,
    push,
    row,
    script,
    shown_rows,
)
from tests.e2e.support import (
    figures,
    finish,
    rows_of,
    stream_figures,
    until,
)

pytestmark = pytest.mark.spark


# -- queries over queries, one-time SELECTs ---------------------------------------------------


def test_windows_over_windows_roll_up(ps: Connection) -> None:
    ps.sql(
        STREAM
        + "CREATE QUERY seconds AS SELECT window_start, count(*) AS n FROM s [RANGE 10 SECONDS];"
        "CREATE QUERY minutes AS SELECT window_start, sum(n) AS n FROM seconds [RANGE 1 MINUTE];"
        "CREATE QUERY busy AS SELECT n FROM minutes WHERE n > 20"
    )
    push(ps, *range(0, 120, 2), *range(120, 180, 5))
    ps.end("s")
    finish(ps)
    assert numbers(ps, "minutes") == [30, 30, 12]
    assert numbers(ps, "busy") == [30, 30]


def test_a_select_reads_what_is_there_now(ps: Connection, tmp_path: Path) -> None:
    ps.sql(script(tmp_path))
    push(ps, *range(15))
    arrive(ps, "flow", 10)
    assert rows_of(ps.sql("SELECT count(*) AS n, max(n) AS m FROM s").table) == [{"n": 15, "m": 14}]
    assert rows_of(ps.sql("SELECT name FROM names WHERE k = 'b'").table) == [{"name": "B"}]
    found = rows_of(ps.sql("SELECT sum(n) AS n FROM flow WHERE n < 10").table)
    assert found == [{"n": 2 + 4 + 8}]
    joined = ps.sql(
        "WITH big AS (SELECT k, n FROM s WHERE n > 12) "
        "SELECT b.n, t.name FROM big b JOIN names t ON b.k = t.k ORDER BY b.n"
    ).table
    assert rows_of(joined) == [{"n": 13, "name": "A"}, {"n": 14, "name": "A"}]
    assert rows_of(ps.sql("SELECT n FROM s TABLESAMPLE (0 ROWS)").table) == []
    assert rows_of(ps.sql("SELECT * FROM sliding WHERE n < 0").table) == []


@pytest.mark.parametrize(
    ("select", "expected"),
    [
        ("SELECT * FROM nada", "UNKNOWN_NAME"),
        ("SELECT * FROM s.nada", "UNKNOWN_NAME"),
        ("SELECT nada FROM s", "UNKNOWN_COLUMN"),
        ("SELECT foo(n) FROM s", "UNKNOWN_FUNCTION"),
        ("SELECT count(*) FROM s [RANGE 1 MINUTE]", "BAD_QUERY"),
        ("SELECT 1 / 0 AS x", "RUN_FAILED"),
    ],
)
def test_a_select_that_is_wrong_has_its_code(ps: Connection, select: str, expected: str) -> None:
    ps.sql(STREAM)
    assert code(ps, select) == expected


def test_late_rows_are_counted_and_kept_readable_also_after_a_cut_and_a_restart(
    opener: Opener,
) -> None:
    with opener() as ps:
        ps.sql(
            STREAM
            + "CREATE QUERY q AS SELECT window_start, count(*) AS n FROM s [RANGE 10 SECONDS]"
        )
        push(ps, 1, 25)
        assert arrive(ps, "q", 1) == [1]
        ps.push("s", [row(90, 3), row(91, 26)])
        until(ps, lambda: figures(ps, "q")["late_rows"] == 1)
        assert late(ps) == [90]
        ps.sql("CREATE QUERY r AS SELECT window_end, count(*) AS n FROM s [RANGE 10 SECONDS]")
        assert late(ps) == [90]
        ps.push("s", [row(92, 4), row(93, 27)])
        until(ps, lambda: len(late(ps)) == 2)
    with opener() as ps:
        assert late(ps) == [90, 92]
        ps.end("s")
        finish(ps)
        assert numbers(ps, "q") == [1, 3]


def late(ps: Connection) -> list[int]:
    return sorted(each["n"] for each in rows_of(ps.sql("SELECT n FROM q.late").table))


def test_rows_that_do_not_fit_are_rejects_of_their_stream(ps: Connection, tmp_path: Path) -> None:
    source = tmp_path / "in"
    source.mkdir()
    (source / "a.json").write_text('{"ts": "2026-01-01T12:00:00Z", "n": 1}\n{"n": 2}\nno json\n')
    ps.sql(
        "CREATE STREAM f (ts TIMESTAMP, n INT) TIMESTAMP BY ts "
        f"FROM files(path => '{source}', format => 'json'); CREATE QUERY q AS SELECT n FROM f"
    )
    assert arrive(ps, "q", 1) == [1]
    until(ps, lambda: stream_figures(ps, "f")["rejected"] == 2)
    rejected = rows_of(ps.sql("SELECT raw, reason FROM f.rejects").table)
    assert len(rejected) == 2
    assert all(each["reason"] for each in rejected)


# -- SHOW and DESCRIBE -----------------------------------------------------------------------


def test_show_says_what_there_is_and_how_it_fares(ps: Connection, tmp_path: Path) -> None:
    ps.sql(script(tmp_path))
    push(ps, *range(25))
    arrive(ps, "tumbling", 2)
    (stream,) = shown_rows(ps, "STREAMS")
    assert (stream["stream"], stream["source"], stream["state"]) == ("s", "push", "OPEN")
    assert (stream["rows"], stream["rejected"], stream["cause"]) == (25, 0, "")
    assert stream["watermark"] == at(24 - 3)
    (table,) = shown_rows(ps, "TABLES")
    assert (table["table"], table["source"], table["columns"]) == ("names", "files", 2)
    assert (table["rows"], table["version"], table["cause"]) == (3, 1, "")
    assert [each["query"] for each in shown_rows(ps, "QUERIES")] == list(QUERIES)
    assert len(arrive(ps, "flow", 16)) == 16
    flow = figures(ps, "flow")
    assert flow["rows_out"] == 16
    assert (flow["state"], flow["rows_in"], flow["late_rows"]) == ("RUNNING", 25, 0)
    assert flow["p50_ms"] >= 0
    until(ps, lambda: figures(ps, "tumbling")["queued_rows"] == 0)
    ps.end("s")
    finish(ps)
    assert stream_figures(ps, "s")["state"] == "ENDED"
    assert stream_figures(ps, "s")["watermark"] is None
    assert {each["state"] for each in shown_rows(ps, "QUERIES")} == {"FINISHED"}
    assert figures(ps, "flow")["rows_in"] == 25


def test_describe_names_columns_types_and_the_event_time(ps: Connection, tmp_path: Path) -> None:
    ps.sql(script(tmp_path))

    def described(name: str) -> list[tuple[str, str, str]]:
        found = rows_of(ps.sql(f"DESCRIBE {name}").table)
        return [(each["column"], each["type"], each["note"]) for each in found]

    assert described("S") == [
        ("ts", "timestamp", "event time"),
        ("k", "string", ""),
        ("n", "int", ""),
    ]
    assert described("names") == [("k", "string", ""), ("name", "string", "")]
    assert described("tumbling") == [
        ("window_start", "timestamp", "event time"),
        ("k", "string", ""),
        ("n", "bigint", ""),
        ("total", "bigint", ""),
    ]
    assert described("joined") == [("n", "int", ""), ("name", "string", "")]
