"""Forms of Spark SQL that users bring along: each gives the rows of the same text as a batch."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from penstock.client import Connection
from penstock.errors import PenstockError
from tests.e2e.support import bag, finish, results, rows_of, write_json

pytestmark = pytest.mark.spark

COLUMNS = (
    "ts TIMESTAMP, k INT, v INT, xs ARRAY<INT>, m MAP<STRING, INT>,"
    " st STRUCT<a: INT, b: STRING>, ps ARRAY<STRUCT<p: INT, q: STRING>>"
)
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def made(n: int) -> dict[str, Any]:
    """Return a row; every tenth is empty, and times leave gaps of up to 40 seconds."""
    ts = NOON + timedelta(seconds=n * 3 + (n // 20) * 40)
    row: dict[str, Any] = {"ts": ts.strftime("%Y-%m-%dT%H:%M:%SZ"), "k": n % 4, "v": n * 7 % 11}
    if n % 10:
        row |= {
            "xs": list(range(n % 3)),
            "m": {"x": n, "y": n + 1},
            "st": {"a": n, "b": f"b{n % 2}"},
            "ps": [{"p": n, "q": "one"}, {"p": n + 1, "q": "two"}],
        }
    return row


ROWS = [made(n) for n in range(60)]

# The text of the standing query, and that of the batch where it is another one.
FORMS: dict[str, tuple[str, str | None]] = {
    "values_using": (
        "SELECT k, v, name FROM s JOIN VALUES (1, 'one'), (2, 'two') AS t (k, name) USING (k)",
        None,
    ),
    "values_left": (
        "SELECT s.k, v, name FROM s LEFT JOIN (VALUES (1, 'one'), (9, 'x')) AS t (k, name)"
        " ON s.k = t.k",
        None,
    ),
    "values_comma": (
        "SELECT v, t.col2 FROM s, VALUES (1, 2.5D), (3, 4D) AS t WHERE k = col1",
        None,
    ),
    "values_with": (
        "WITH t (k, name) AS (VALUES (1, 'one'), (2, NULL))"
        " SELECT s.k, name FROM s JOIN t ON s.k = t.k",
        None,
    ),
    "values_select": (
        "SELECT s.k, n FROM s JOIN (SELECT a AS k, b * 2 AS n FROM VALUES (1, 2), (3, 4)"
        " AS x (a, b) WHERE b > 2) t ON s.k = t.k",
        None,
    ),
    "values_semi": (
        "SELECT k, v FROM s LEFT SEMI JOIN VALUES (1), (3) AS t (k) ON s.k = t.k",
        None,
    ),
    "lateral": ("SELECT k, x FROM s LATERAL VIEW explode(xs) t AS x", None),
    "lateral_outer": ("SELECT k, t.x, v FROM s LATERAL VIEW OUTER explode(xs) t AS x", None),
    "lateral_two": (
        "SELECT k, x, key, value FROM s LATERAL VIEW explode(xs) t AS x LATERAL VIEW explode(m) e",
        None,
    ),
    "lateral_pos": (
        "SELECT k, i, x + v AS y FROM s LATERAL VIEW posexplode(xs) t AS i, x"
        " WHERE x > 0 AND k > 1",
        None,
    ),
    "lateral_inline": ("SELECT v, q, p FROM s LATERAL VIEW OUTER inline(ps) t AS p, q", None),
    "lateral_same_name": ("SELECT s.v, t.v AS inner FROM s LATERAL VIEW explode(xs) t AS v", None),
    "lateral_window": (
        "SELECT window_start, x, count(*) AS n FROM s [RANGE 1 MINUTE]"
        " LATERAL VIEW explode(xs) t AS x GROUP BY x",
        "SELECT window.start AS window_start, x, count(*) AS n FROM s"
        " LATERAL VIEW explode(xs) t AS x GROUP BY window(ts, '1 minute'), x",
    ),
    "named_window": (
        "SELECT window_start, k, sum(v) AS n, rank() OVER w AS place, max(sum(v)) OVER p AS most"
        " FROM s [RANGE 1 MINUTE] GROUP BY k"
        " WINDOW p AS (PARTITION BY window_start), w AS (p ORDER BY sum(v) DESC, k)",
        "SELECT window.start AS window_start, k, sum(v) AS n,"
        " rank() OVER (PARTITION BY window ORDER BY sum(v) DESC, k) AS place,"
        " max(sum(v)) OVER (PARTITION BY window) AS most"
        " FROM s GROUP BY window(ts, '1 minute'), k",
    ),
    "struct_star_plain": ("SELECT k, st.* FROM s WHERE st.a > 3", None),
    "struct_star_of_input": ("SELECT s.st.*, v FROM s", None),
    "union_by_name": (
        "SELECT k, v FROM s WHERE k = 1"
        " UNION ALL BY NAME SELECT v + 100 AS v, k FROM s WHERE k = 2",
        "SELECT k, v FROM s WHERE k = 1 UNION ALL SELECT k, v + 100 AS v FROM s WHERE k = 2",
    ),
    "union_distinct_by_name": (
        "SELECT ts, k FROM s WHERE k < 3 UNION BY NAME SELECT k, ts FROM s WHERE k > 1",
        "SELECT ts, k FROM s WHERE k < 3 UNION SELECT ts, k FROM s WHERE k > 1",
    ),
    "tumbling": (
        "SELECT window.start, window.end, k, count(*) AS n FROM s"
        " GROUP BY window(ts, '10 seconds'), k",
        None,
    ),
    "tumbling_struct": (
        "SELECT window, sum(v) AS n FROM s GROUP BY window(ts, '1 minute') HAVING sum(v) > 20",
        None,
    ),
    "sliding": (
        "SELECT window.*, sum(v) AS n FROM s GROUP BY k, window(ts, '20 seconds', '5 seconds')",
        "SELECT window.start, window.end, sum(v) AS n FROM s"
        " GROUP BY k, window(ts, '20 seconds', '5 seconds')",
    ),
    "offset": (
        "SELECT window.start AS b, avg(v) AS n FROM s"
        " GROUP BY window(ts, INTERVAL 20 SECONDS, '10 seconds', '3 seconds')",
        "SELECT window.start AS b, avg(v) AS n FROM s"
        " GROUP BY window(ts, '20 seconds', '10 seconds', '3 seconds')",
    ),
    "offset_back": (
        "SELECT window.end, max(v) AS n FROM s"
        " GROUP BY window(ts, '20 seconds', '20 seconds', '-7 seconds')",
        None,
    ),
    "window_alias": (
        "SELECT window(ts, '30 seconds') AS w, count(DISTINCT k) AS n FROM s GROUP BY w"
        " HAVING w.start > TIMESTAMP '2026-01-01 12:00:40Z'",
        None,
    ),
    "window_ordinal": (
        "SELECT window(s.ts, '30 seconds'), k, count(*) AS n FROM s GROUP BY 1, 2",
        None,
    ),
    "window_where": (
        "SELECT date_format(window.start, 'HH:mm:ss') AS at, k, collect_list(v) AS vs FROM s"
        " JOIN VALUES (1), (2) AS t (kk) ON k = kk WHERE v > 2 GROUP BY window(ts, '1 minute'), k",
        None,
    ),
    "session": (
        "SELECT session_window.start, session_window.end, k, count(*) AS n FROM s"
        " GROUP BY session_window(ts, '30 seconds'), k",
        None,
    ),
    "session_all": (
        "SELECT session_window, sum(v) AS n FROM s GROUP BY session_window(ts, '5 seconds')",
        None,
    ),
    "sampling": (
        "SELECT window_start, window_end, k, sum(v) AS n FROM s [RANGE 10 SECONDS SLIDE 1 MINUTE]"
        " GROUP BY k",
        "SELECT window.start AS window_start, window.start + INTERVAL 10 SECONDS AS window_end,"
        " k, sum(v) AS n FROM s WHERE pmod(unix_seconds(ts), 60) < 10"
        " GROUP BY window(ts, '1 minute'), k",
    ),
    "sampling_offset": (
        "SELECT window_start, max(v) AS n"
        " FROM s [RANGE 7 SECONDS SLIDE 25 SECONDS OFFSET 4 SECONDS]",
        "SELECT window.start AS window_start, max(v) AS n FROM s"
        " WHERE pmod(unix_seconds(ts) - 4, 25) < 7"
        " GROUP BY window(ts, '25 seconds', '25 seconds', '4 seconds')",
    ),
    "sampling_content": (
        "SELECT window_start, ts, v FROM s [RANGE 10 SECONDS SLIDE 1 MINUTE]",
        "SELECT window(ts, '1 minute').start AS window_start, ts, v FROM s"
        " WHERE pmod(unix_seconds(ts), 60) < 10",
    ),
}


ROWS_PER_PUSH = 25
GROUPS = [dict(list(FORMS.items())[start : start + 9]) for start in range(0, len(FORMS), 9)]


@pytest.mark.parametrize("forms", GROUPS, ids=lambda forms: next(iter(forms)))
def test_each_form_gives_what_the_batch_gives(
    ps: Connection, spark: SparkSession, tmp_path: Path, forms: dict[str, tuple[str, str | None]]
) -> None:
    write_json(tmp_path / "s.json", ROWS)
    frame = spark.read.schema(COLUMNS).json(str(tmp_path / "s.json"))
    frame.createOrReplaceTempView("s")
    whole = frame.toArrow()
    ps.sql(
        f"CREATE STREAM s ({COLUMNS}) TIMESTAMP BY ts SLACK INTERVAL 0 SECONDS"
        " FROM push(rows_per_train => 1)"
    )
    wrong: dict[str, Any] = {}
    for name, (standing, _) in forms.items():
        try:
            ps.sql(f"CREATE QUERY q_{name} AS {standing}")
        except PenstockError as error:
            wrong[name] = str(error)
    for start in range(0, whole.num_rows, ROWS_PER_PUSH):
        ps.push("s", whole.slice(start, ROWS_PER_PUSH))
    ps.end("s")
    finish(ps)
    for name, (standing, batch) in forms.items():
        if name in wrong:
            continue
        wanted, found = spark.sql(batch or standing).toArrow(), results(ps, f"q_{name}")
        if found.column_names != wanted.column_names or bag(found) != bag(wanted):
            wrong[name] = (found.slice(0, 3).to_pylist(), wanted.slice(0, 3).to_pylist())
    assert not wrong, "\n".join(f"{name}: {said}" for name, said in wrong.items())
    lost = {row["query"]: row["late_rows"] for row in rows_of(ps.sql("SHOW QUERIES").table)}
    assert not any(lost.values())
