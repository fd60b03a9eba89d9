"""Every tuple that comes in is used or told as late, however deep in the query it is judged."""

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from penstock.client import Connection
from tests.e2e.reference.trial import each_train_alone
from tests.e2e.support import figures, finish, results, rows_of

pytestmark = pytest.mark.spark

TRAIN = 6  # tuples; what comes late is in a later train than what it is behind
BEGIN = datetime(2026, 3, 1, 12, tzinfo=UTC)
R, H = "[RANGE 3 SECONDS]", "[RANGE 4 SECONDS SLIDE 4 SECONDS]"

# By name: a SELECT that shows, somewhere in its rows, the ids of all tuples that it used. Ids of a
# are even and those of b odd, so that no two ever meet. The streams are those whose ids it shows.
FORMS: dict[str, tuple[str, str]] = {
    "windows_below_windows": (
        "SELECT window_start, flatten(collect_list(ids)) AS ids FROM (SELECT window_start, k, "
        "collect_list(id) AS ids FROM a [RANGE 5 SECONDS] GROUP BY k) GROUP BY window_start",
        "a",
    ),
    "top_of_windows": (
        "SELECT ids FROM (SELECT k, collect_list(id) AS ids FROM a [RANGE 5 SECONDS] GROUP BY k) "
        "ORDER BY k LIMIT 9",
        "a",
    ),
    "join": (
        f"SELECT x, y FROM (SELECT a.id AS x, b.id AS y FROM a {R} FULL JOIN b {R} ON a.id = b.id)",
        "ab",
    ),
    "windows_over_join": (
        f"SELECT window_start, collect_list(x) AS ids FROM (SELECT a.ts, a.id AS x FROM a {R} "
        f"LEFT ANTI JOIN b {R} ON a.id = b.id) [RANGE 10 SECONDS]",
        "a",
    ),
    "join_of_join": (
        f"SELECT x, y FROM (SELECT a.ts, a.id AS x FROM a {R} LEFT JOIN b {R} ON a.id = b.id) {R} "
        f"AS j FULL JOIN (SELECT ts, id AS y FROM b) {R} AS c ON j.x = c.y",
        "ab",
    ),
    "window_by_window": (
        f"SELECT x, y FROM (SELECT a.id AS x, b.id AS y FROM a {H} FULL JOIN b {H} ON a.id = b.id)",
        "ab",
    ),
    "join_of_rows": (
        "SELECT x, y FROM (SELECT a.id AS x, b.id AS y FROM a [ROWS 2] FULL JOIN b [ROWS 2] "
        "ON a.id = b.id)",
        "ab",
    ),
    "windows_together": (
        "SELECT window_start, collect_list(id) AS ids FROM a [RANGE 5 SECONDS] UNION ALL "
        "SELECT window_start, collect_list(id) AS ids FROM b [RANGE 4 SECONDS]",
        "ab",
    ),
    "sessions_and_rows": (
        "SELECT ids FROM (SELECT k, collect_list(id) AS ids FROM a [SESSION GAP 2 SECONDS] "
        "GROUP BY k) UNION ALL SELECT collect_list(id) AS ids FROM b [ROWS 1]",
        "ab",
    ),
    "when_and_keyed_rows": (
        "SELECT collect_list(id) AS ids FROM a [WHEN count(*) >= 2] UNION ALL "
        "SELECT collect_list(id) AS ids FROM b [PARTITION BY k ROWS 1] GROUP BY k",
        "ab",
    ),
    "union": ("SELECT id FROM (SELECT ts, id FROM a UNION SELECT ts, id FROM b)", "ab"),
    "except": ("SELECT id FROM (SELECT ts, id FROM a EXCEPT SELECT ts, id FROM b)", "a"),
    "distinct": ("SELECT id FROM (SELECT DISTINCT id, k FROM a [RANGE 5 SECONDS])", "a"),
    "order": ("SELECT id, d FROM (SELECT id, adiff(id) AS d FROM a) WHERE d <> 1", "a"),
}
FIRST = {"order": {0}}  # the first tuple of a modifier has none before it, and gives no row
# A query over another: what came too late below is the other's.
ABOVE = "SELECT window_start, count(*) AS n FROM q_below [RANGE 10 SECONDS]"
BELOW = f"SELECT a.ts, a.id FROM a {R} LEFT ANTI JOIN b {R} ON a.id = b.id"


@pytest.fixture
def ps(spark: SparkSession, tmp_path: Path) -> Iterator[Connection]:
    with each_train_alone(tmp_path / "home", spark) as connection:
        yield connection


def pushed(seed: int, first: int) -> list[dict[str, Any]]:
    """Return tuples of which some come far too late."""
    chance = random.Random(seed)
    return [
        {
            "ts": BEGIN + timedelta(seconds=at - (chance.randint(8, 20) if at % 7 == 6 else 0)),
            "id": 2 * at + first,
            "k": chance.choice("xyz"),
        }
        for at in range(3 * TRAIN)
    ]


def ids_in(row: dict[str, Any]) -> list[int]:
    shown = {"id", "x", "y", "ids"}
    values = [value for name, value in row.items() if name.split("_")[-1] in shown]
    flat = [each for value in values for each in (value if isinstance(value, list) else [value])]
    return [each for each in flat if each is not None]


def run(ps: Connection, selects: dict[str, str], rows: dict[str, list[dict[str, Any]]]) -> None:
    """Push all tuples, train by train, to the queries."""
    for name in rows:
        ps.sql(
            f"CREATE STREAM {name} (ts TIMESTAMP, id INT, k STRING) TIMESTAMP BY ts "
            f"FROM push(rows_per_train => {TRAIN})"
        )
    for name, select in selects.items():
        ps.sql(f"CREATE QUERY q_{name} AS {select}")
    for start in range(0, len(rows["a"]), TRAIN):
        for name, each in rows.items():
            ps.push(name, each[start : start + TRAIN])
    for name in rows:
        ps.end(name)
    finish(ps)


BATCHES = [tuple(FORMS)[start : start + 5] for start in range(0, len(FORMS), 5)]


@pytest.mark.parametrize("forms", BATCHES, ids=", ".join)
def test_what_comes_in_is_used_or_told_late(ps: Connection, forms: tuple[str, ...]) -> None:
    rows = {"a": pushed(1, 0), "b": pushed(2, 1)}
    run(ps, {name: FORMS[name][0] for name in forms}, rows)
    for name in forms:
        late = rows_of(ps.sql(f"SELECT * FROM q_{name}.late").table)
        assert figures(ps, f"q_{name}")["late_rows"] == len(late) > 0, name
        came = {row["id"] for stream in FORMS[name][1] for row in rows[stream]}
        told = {each for row in late for each in ids_in(row)} & came
        used = [each for row in results(ps, f"q_{name}").to_pylist() for each in ids_in(row)]
        assert len(used) == len(set(used)), name
        assert not told & set(used), name
        assert told | set(used) | FIRST.get(name, set()) == came, name


def test_what_is_late_for_a_query_that_is_read_is_that_querys(ps: Connection) -> None:
    run(ps, {"below": BELOW, "above": ABOVE}, {"a": pushed(1, 0), "b": pushed(2, 1)})
    assert figures(ps, "q_below")["late_rows"] > 0
    assert figures(ps, "q_above")["late_rows"] == 0
    assert rows_of(ps.sql("SELECT id FROM q_above.late").table) == []
