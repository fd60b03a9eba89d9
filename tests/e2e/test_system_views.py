"""What SHOW shows can be asked: the schema `system`, in one-time SELECTs."""

import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from penstock.client import Connection
from penstock.errors import UnknownNameError
from penstock.runtime.views.schema import VIEWS
from tests.e2e.support import figures, finish, rows_of, until

pytestmark = pytest.mark.spark

REFERENCE = Path(__file__).parents[2] / "docs/reference/system.md"
GROWING = {"history"}  # while nothing else happens
SCRIPT = """
CREATE STREAM s (ts TIMESTAMP, n INT) TIMESTAMP BY ts SLACK INTERVAL 0 SECONDS FROM push();
CREATE STREAM system (n INT) FROM push();
CREATE STREAM f (n INT) FROM files(path => '{path}', format => 'json', bounded => true);
CREATE QUERY low AS SELECT n FROM s WHERE n < 3;
CREATE QUERY high WITH (max_latency => INTERVAL 5 SECONDS, priority => 7)
  AS SELECT n FROM s WHERE n >= 3;
CREATE QUERY sums AS SELECT window_start, sum(n) AS total FROM s [RANGE 2 SECONDS];
CREATE QUERY read AS SELECT n FROM f;
CREATE RULE wrong ON high DO CALL missing WITH (retries => 0);
"""


def asked(ps: Connection, select: str) -> list[dict[str, Any]]:
    return rows_of(ps.sql(select).table)


def push(ps: Connection, *seconds: int) -> None:
    ps.push("s", [{"ts": f"2026-01-01T00:00:0{n}Z", "n": n} for n in seconds])


def has_read(ps: Connection, rows: int) -> bool:
    return figures(ps, "low")["rows_in"] == figures(ps, "sums")["rows_in"] == rows


@pytest.fixture
def shown(ps: Connection, tmp_path: Path) -> Connection:
    """Return a connection where five rows have gone through queries, and one was late."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.json").write_text('{"n": 1}\n{"n": "many"}\n')
    ps.action("missing", fail)
    ps.script(SCRIPT.format(path=tmp_path / "in"))
    push(ps, 0, 1, 2, 3, 4)
    until(ps, partial(has_read, ps, 5))
    push(ps, 0)
    until(ps, partial(has_read, ps, 6))
    return ps


def fail(_: object) -> None:
    raise ValueError("it is missing")


def test_every_view_has_the_columns_and_types_that_it_declares(shown: Connection) -> None:
    ps = shown
    for name in ("s", "system"):
        ps.end(name)
    finish(ps)
    for name, view in VIEWS.items():
        told, found = ps.sql(f"SHOW {name}").table, ps.sql(f"SELECT * FROM system.{name}").table
        assert told is not None
        assert found is not None
        assert told.schema == view.columns, name
        assert found.schema.names == view.columns.names, name
        assert found.schema.types == view.columns.types, name
        assert name in GROWING or found.num_rows == told.num_rows, name
    assert asked(ps, "SELECT count(*) AS c FROM system.queries") == [{"c": 4}]
    # A stream of that name keeps what is its own.
    assert asked(ps, "SELECT * FROM system.rejects") == []
    for block in re.findall(r"```sql\n(.*?)```", REFERENCE.read_text(), re.DOTALL):
        ps.script(block)


def test_views_are_filtered_joined_and_counted(shown: Connection) -> None:
    ps = shown
    ps.end("s")
    until(ps, lambda: not asked(ps, "SELECT * FROM system.queries WHERE state = 'RUNNING'"))
    assert asked(
        ps,
        "SELECT q.query, q.rows_out, s.rows FROM System.Queries q CROSS JOIN system.streams s "
        "WHERE q.state = 'FINISHED' AND q.rows_out > 1 AND s.stream = 's' ORDER BY q.query",
    ) == [
        {"query": "high", "rows_out": 2, "rows": 6},
        {"query": "low", "rows_out": 4, "rows": 6},
        {"query": "sums", "rows_out": 3, "rows": 6},
    ]
    assert asked(
        ps,
        "SELECT c.query, c.max_latency_ms, c.priority, q.kept FROM system.contracts c "
        "LEFT JOIN system.qos q ON q.query = c.query WHERE c.priority > 5",
    ) == [{"query": "high", "max_latency_ms": 5000.0, "priority": 7, "kept": None}]


def test_rows_that_were_left_aside_are_counted_with_where_they_are(shown: Connection) -> None:
    ps = shown
    wanted = {"late": ("sums", 1), "rejected": ("f", 1), "dead": ("wrong", 2)}

    def found() -> dict[str, tuple[str, int]]:
        letters = asked(ps, "SELECT * FROM system.dead_letters")
        return {row["kind"]: (row["name"], row["rows"]) for row in letters}

    until(ps, lambda: found() == wanted)
    for row in asked(ps, "SELECT * FROM system.dead_letters"):
        assert len(asked(ps, f"SELECT * FROM {row['relation']}")) == row["rows"], row


def test_units_buffers_and_trains_belong_together(shown: Connection) -> None:
    ps = shown
    # Held by its unit, the next train waits where it is.
    ps.script("CREATE QUERY odd AS SELECT 10 / (n - 7) AS x FROM s;")
    push(ps, 7)
    until(ps, lambda: bool(asked(ps, "SELECT * FROM system.units WHERE state = 'HELD'")))
    held = asked(
        ps,
        "SELECT b.stream, t.number, t.rows, t.place FROM system.trains t "
        "JOIN system.buffers b ON b.buffer = t.buffer WHERE b.stream = 's'",
    )
    assert [(row["rows"], row["place"]) for row in held] == [(1, "memory")]
    units = asked(
        ps,
        "SELECT u.kind, u.rows_in, b.last_train FROM system.units u "
        "JOIN system.buffers b ON b.unit = u.unit WHERE u.state = 'RUNNING'",
    )
    assert any(row["last_train"] for row in units)


def test_history_has_samples_of_streams_and_queries(shown: Connection) -> None:
    ps = shown
    last = (
        "SELECT kind, name, max(rows_in) AS rows_in, max(rows_out) AS rows_out, "
        "max(in_per_s) AS rate, count(latency_ms) AS latencies FROM system.history "
        "WHERE name IN ('s', 'low') GROUP BY kind, name ORDER BY kind"
    )
    counted = [("query", "low", 6, 4), ("stream", "s", 6, 6)]

    def found() -> list[tuple[Any, ...]]:
        return [tuple(row.values())[:4] for row in asked(ps, last)]

    until(ps, lambda: found() == counted)
    push(ps, 5, 6, 7)
    counted = [("query", "low", 9, 4), ("stream", "s", 9, 9)]
    until(ps, lambda: found() == counted)
    query, stream = asked(ps, last)
    assert query["rate"] > 0
    assert stream["rate"] > 0
    assert stream["latencies"] == 0


def test_a_view_that_there_is_not_is_told_with_those_that_there_are(ps: Connection) -> None:
    with pytest.raises(UnknownNameError) as caught:
        ps.sql("SELECT * FROM system.nothing")
    assert "system.queries" in caught.value.hint
