"""[PARTITION BY k ROWS r] in a running system: WHERE, groups, restarts, streams without time."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.client import Connection
from penstock.engine.states.windows import keyed_rows
from penstock.errors import BadQueryError, UnknownColumnError
from tests.e2e.support import figures, finish, results, until

pytestmark = pytest.mark.spark

STREAM = "CREATE STREAM s (k STRING, g INT, x INT) FROM push(rows_per_train => 1);"


@pytest.fixture
def ps(spark: SparkSession, tmp_path: Path) -> Iterator[Connection]:
    with penstock.connect(tmp_path, spark=spark) as connection:
        yield connection


def row(k: str, x: int, g: int = 0) -> dict[str, object]:
    return {"k": k, "g": g, "x": x}


def answer(ps: Connection, select: str, rows: list[dict[str, object]]) -> list[tuple[Any, ...]]:
    ps.sql(f"{STREAM} CREATE QUERY q AS {select};")
    ps.push("s", rows)
    ps.end("s")
    finish(ps)
    return [tuple(each.values()) for each in results(ps, "q").to_pylist()]


def test_where_chooses_among_the_tuples_of_a_window_and_does_not_move_it(ps: Connection) -> None:
    select = (
        "SELECT window_start, window_end, k, collect_list(x) AS xs "
        "FROM s [PARTITION BY k ROWS 2] WHERE x > 1 GROUP BY k"
    )
    rows = [row("a", 1), row("b", 7), row("a", 2), row("a", 3), row("a", 1), row("a", 0)]
    rows += [row("a", 1), row("a", 9)]
    assert sorted(answer(ps, select, rows)) == [
        (1, 2, "a", [2]),
        (1, 2, "b", [7]),  # it was never full, and closes with the stream
        (3, 4, "a", [3]),
        (7, 8, "a", [9]),
    ]


def test_group_by_divides_what_a_window_of_a_partition_holds(ps: Connection) -> None:
    select = (
        "SELECT window_start, g, first(x) AS f, sum(x) AS s "
        "FROM s [PARTITION BY k ROWS 3 SLIDE 2] GROUP BY g HAVING sum(x) > 1"
    )
    rows = [row("a", 5, 1), row("a", 2, 2), row("b", 9, 1), row("a", 3, 1), row("a", 4, 2)]
    assert sorted(answer(ps, select, rows)) == [
        (1, 1, 5, 8),
        (1, 1, 9, 9),
        (1, 2, 2, 2),
        (3, 1, 3, 3),
        (3, 2, 4, 4),
    ]


def test_a_partition_that_is_not_grouped_cannot_be_shown(ps: Connection) -> None:
    ps.sql(STREAM)
    with pytest.raises(BadQueryError):
        ps.sql("CREATE QUERY q AS SELECT k, sum(x) AS s FROM s [PARTITION BY k ROWS 3]")
    with pytest.raises(UnknownColumnError):
        ps.sql("CREATE QUERY q AS SELECT sum(x) AS s FROM s [PARTITION BY nothing ROWS 3]")


def test_a_restart_remembers_tuples_and_counts(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keyed_rows, "COMPACT_PARTS", 2)
    for turn in range(5):
        with penstock.connect(tmp_path, spark=spark) as ps:
            if not turn:
                ps.sql(
                    f"{STREAM} CREATE QUERY q AS SELECT window_start, k, sum(x) AS s "
                    "FROM s [PARTITION BY k ROWS 3 SLIDE 2] GROUP BY k;"
                )
            ps.push("s", [row("a", turn), row("b", 10 * turn), row("c" * turn, 100)])
            if turn < 4:
                _settle(ps, (turn + 1) * 3)
                continue
            ps.end("s")
            finish(ps)
            found = [tuple(each.values()) for each in results(ps, "q").to_pylist()]
    assert sorted(found) == [
        (1, "", 100),
        (1, "a", 3),
        (1, "b", 30),
        (1, "c", 100),
        (1, "cc", 100),
        (1, "ccc", 100),
        (1, "cccc", 100),
        (3, "a", 9),
        (3, "b", 90),
        (5, "a", 4),
        (5, "b", 40),
    ]


def _settle(ps: Connection, count: int) -> None:
    until(ps, lambda: figures(ps, "q")["rows_in"] >= count)
