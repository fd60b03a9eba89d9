"""What SHOW tells can be asked: the schema `system`, in one-time SELECTs."""

import pytest

from penstock.client import Connection
from penstock.errors import UnknownNameError
from penstock.runtime.views.schema import VIEWS
from tests.e2e.support import finish, rows_of

pytestmark = pytest.mark.spark

SCRIPT = """
CREATE STREAM s (ts TIMESTAMP, n INT) TIMESTAMP BY ts FROM push();
CREATE STREAM system (n INT) FROM push();
CREATE QUERY low AS SELECT n FROM s WHERE n < 3;
CREATE QUERY high AS SELECT n FROM s WHERE n >= 3;
CREATE QUERY sums AS SELECT window_start, sum(n) AS total FROM s [RANGE 10 SECONDS];
"""


def test_what_show_tells_can_be_filtered_joined_and_counted(ps: Connection) -> None:
    ps.script(SCRIPT)
    ps.push("s", [{"ts": f"2026-01-01T00:00:0{n}Z", "n": n} for n in range(5)])
    for name in ("s", "system"):
        ps.end(name)
    finish(ps)
    for name, view in VIEWS.items():
        told, asked = (
            ps.sql(text).table for text in (f"SHOW {name}", f"SELECT * FROM system.{name}")
        )
        assert told is not None
        assert asked is not None
        assert asked.schema.names == told.schema.names == view.columns.names, name
        assert asked.num_rows >= told.num_rows, name  # a sample may have come between
    found = ps.sql(
        "SELECT q.query, q.rows_out, s.rows FROM System.Queries q CROSS JOIN system.streams s "
        "WHERE q.state = 'FINISHED' AND q.rows_out > 1 AND s.stream = 's' ORDER BY q.query"
    ).table
    assert rows_of(found) == [
        {"query": "high", "rows_out": 2, "rows": 5},
        {"query": "low", "rows_out": 3, "rows": 5},
    ]
    count = ps.sql("SELECT count(*) AS c FROM system.queries").table
    assert rows_of(count) == [{"c": 3}]
    # A stream of that name keeps what is its own.
    assert rows_of(ps.sql("SELECT * FROM system.rejects").table) == []


def test_a_view_that_there_is_not_is_told_with_those_that_there_are(ps: Connection) -> None:
    with pytest.raises(UnknownNameError) as caught:
        ps.sql("SELECT * FROM system.nothing")
    assert "system.queries" in caught.value.hint
