"""SQL in, rows out: definitions come and go, the system stops and starts, nobody loses a row."""

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.client import Connection
from penstock.clock import HandClock
from penstock.errors import PenstockError
from penstock.runtime.result_row import START, Position
from penstock.runtime.subscription import Subscription
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

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
STREAM = "CREATE STREAM s (ts TIMESTAMP, k STRING, n INT) TIMESTAMP BY ts FROM push();"
Opener = Callable[[], Connection]


@pytest.fixture
def opener(spark: SparkSession, tmp_path: Path) -> Opener:
    return lambda: penstock.connect(tmp_path / "home", spark=spark)


@pytest.fixture
def ps(opener: Opener) -> Iterator[Connection]:
    with opener() as connection:
        yield connection


def at(second: float) -> datetime:
    return NOON + timedelta(seconds=second)


def row(n: int, second: float | None = None, k: str = "a") -> dict[str, Any]:
    return {"ts": at(n if second is None else second), "k": k, "n": n}


def push(ps: Connection, *numbers: int, stream: str = "s") -> None:
    ps.push(stream, [row(n) for n in numbers])


def until(ps: Connection, holds: Callable[[], bool]) -> None:
    """Wait until something holds; the machine may be busy."""
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline, shown(ps)
        time.sleep(0.02)


def numbers(ps: Connection, query: str, column: str = "n") -> list[int]:
    """Return a column of all that a query has delivered."""
    found = results(ps, query)
    return found[column].to_pylist() if found.num_rows else []


def arrive(ps: Connection, query: str, count: int, column: str = "n") -> list[int]:
    """Wait for so many rows of a query, and return the column."""
    until(ps, lambda: len(numbers(ps, query, column)) >= count)
    return numbers(ps, query, column)


def code(ps: Connection, statement: str) -> str:
    with pytest.raises(PenstockError) as refused:
        ps.sql(statement)
    return refused.value.code


def state(ps: Connection, query: str) -> str:
    return str(figures(ps, query)["state"])


# -- definitions ---------------------------------------------------------------------------


def test_a_name_is_taken_once_whatever_its_case_and_kind(ps: Connection) -> None:
    ps.sql(STREAM + "CREATE QUERY q AS SELECT n FROM s")
    assert code(ps, STREAM) == "NAME_TAKEN"
    assert code(ps, "CREATE QUERY Q AS SELECT k FROM s") == "NAME_TAKEN"
    assert code(ps, "CREATE QUERY S AS SELECT n FROM s") == "NAME_TAKEN"
    assert code(ps, "CREATE OR REPLACE STREAM q (n INT) FROM push()") == "NAME_TAKEN"


def test_if_not_exists_leaves_what_is_there_with_all_that_it_has(ps: Connection) -> None:
    ps.sql(STREAM + "CREATE QUERY q AS SELECT n FROM s")
    push(ps, 1)
    arrive(ps, "q", 1)
    ps.sql("CREATE STREAM IF NOT EXISTS s (other INT) FROM push()")
    ps.sql("CREATE QUERY IF NOT EXISTS q AS SELECT k FROM s")
    push(ps, 2)
    assert arrive(ps, "q", 2) == [1, 2]


def test_or_replace_with_the_same_text_changes_nothing(ps: Connection) -> None:
    script = "CREATE OR REPLACE QUERY q AS SELECT n FROM s"
    ps.sql(STREAM + script)
    push(ps, 1)
    arrive(ps, "q", 1)
    ps.sql(script)
    push(ps, 2)
    assert arrive(ps, "q", 2) == [1, 2]


def test_or_replace_begins_anew_and_goes_on_numbering(ps: Connection) -> None:
    ps.sql(STREAM + "CREATE QUERY q AS SELECT n FROM s")
    push(ps, 1)
    arrive(ps, "q", 1)
    (first,) = rows_with_positions(ps, "q")
    ps.sql("CREATE OR REPLACE QUERY q AS SELECT n * 10 AS n FROM s")
    assert numbers(ps, "q") == []
    push(ps, 2)
    assert arrive(ps, "q", 1) == [20]
    (second,) = rows_with_positions(ps, "q")
    assert second[0] > first[0]


def rows_with_positions(ps: Connection, query: str) -> list[tuple[Position, int]]:
    with ps.subscribe(query) as subscription:
        found = []
        while (each := subscription.next(0)) is not None:
            found.append((each.position, each["n"]))
    return found


def test_what_others_read_can_be_neither_dropped_nor_replaced(ps: Connection) -> None:
    ps.sql(
        STREAM + "CREATE QUERY q AS SELECT ts, n FROM s; CREATE QUERY r AS SELECT n + 1 AS n FROM q"
    )
    assert code(ps, "DROP STREAM s") == "IN_USE"
    assert code(ps, "DROP QUERY q") == "IN_USE"
    assert code(ps, "CREATE OR REPLACE QUERY q AS SELECT ts, n * 2 AS n FROM s") == "IN_USE"
    ps.sql("DROP QUERY r; DROP QUERY q; DROP STREAM s")
    assert rows_of(ps.sql("SHOW QUERIES").table) == rows_of(ps.sql("SHOW STREAMS").table) == []


def test_a_query_may_not_read_itself(ps: Connection) -> None:
    ps.sql(STREAM + "CREATE QUERY q AS SELECT ts, n FROM s")
    assert code(ps, "CREATE OR REPLACE QUERY q AS SELECT n FROM q") == "CYCLE"
    assert code(ps, "CREATE QUERY r AS SELECT n FROM r") == "CYCLE"


def test_what_is_not_there_is_told(ps: Connection) -> None:
    for statement in ("DROP STREAM x", "DROP QUERY x", "DROP TABLE x", "STOP QUERY x"):
        assert code(ps, statement) == "UNKNOWN_NAME"
    for statement in ("RESUME QUERY x", "DESCRIBE x", "EXPLAIN x", "SELECT * FROM x"):
        assert code(ps, statement) == "UNKNOWN_NAME"
    ps.sql("DROP STREAM IF EXISTS x; DROP QUERY IF EXISTS x; DROP TABLE IF EXISTS x")
    with pytest.raises(PenstockError):
        ps.subscribe("x")
    with pytest.raises(PenstockError):
        ps.push("x", [])


def test_a_statement_that_fails_leaves_those_before_it_and_no_trace_of_itself(
    ps: Connection, tmp_path: Path
) -> None:
    assert code(ps, STREAM + "CREATE QUERY q AS SELECT nada FROM s") == "UNKNOWN_COLUMN"
    assert code(ps, f"CREATE TABLE t FROM files(path => '{tmp_path}/no', format => 'json')") == (
        "SOURCE_FAILED"
    )
    assert rows_of(ps.sql("SHOW QUERIES").table) == rows_of(ps.sql("SHOW TABLES").table) == []
    ps.sql("CREATE STREAM IF NOT EXISTS s (n INT) FROM push(); CREATE QUERY q AS SELECT n FROM s")


def test_a_table_that_cannot_be_replaced_stays(ps: Connection, tmp_path: Path) -> None:
    path = write_json(tmp_path / "t.json", [{"x": 1}])
    ps.sql(f"CREATE TABLE t FROM files(path => '{path}', format => 'json')")
    bad = f"CREATE OR REPLACE TABLE t FROM files(path => '{tmp_path}/no', format => 'json')"
    assert code(ps, bad) == "SOURCE_FAILED"
    assert rows_of(ps.sql("SELECT x FROM t").table) == [{"x": 1}]
    write_json(tmp_path / "t2.json", [{"x": 2}])
    ps.sql(bad.replace("/no'", "/t2.json'"))
    assert rows_of(ps.sql("SELECT x FROM t").table) == [{"x": 2}]


def test_a_query_whose_table_was_gone_for_a_while_runs_again(
    opener: Opener, tmp_path: Path
) -> None:
    with opener() as ps:
        ps.sql(script(tmp_path))
        push(ps, 1)
        arrive(ps, "joined", 1)
    (tmp_path / "names.json").rename(tmp_path / "away.json")
    with opener() as ps:
        push(ps, 2)
        arrive(ps, "flow", 2)
    (tmp_path / "away.json").rename(tmp_path / "names.json")
    with opener() as ps:
        assert state(ps, "joined") == "RUNNING"
        push(ps, 3)
        until(ps, lambda: numbers(ps, "joined")[-1] == 3)


def test_a_stream_that_is_dropped_and_made_again_has_no_past(ps: Connection) -> None:
    for number in (1, 2):
        ps.sql(STREAM + "CREATE QUERY q AS SELECT n FROM s")
        push(ps, number)
        assert arrive(ps, "q", 1) == [number]
        ps.sql("DROP QUERY q; DROP STREAM s")


# -- stop and resume -----------------------------------------------------------------------


def test_a_query_that_is_stopped_sees_nothing_until_it_is_resumed(ps: Connection) -> None:
    ps.sql(STREAM + "CREATE QUERY q AS SELECT n FROM s; CREATE QUERY other AS SELECT n FROM s")
    push(ps, 1)
    arrive(ps, "q", 1)
    ps.sql("STOP QUERY q")
    assert state(ps, "q") == "STOPPED"
    push(ps, 2)
    arrive(ps, "other", 2)
    assert numbers(ps, "q") == [1]
    ps.sql("RESUME QUERY q")
    assert state(ps, "q") == "RUNNING"
    push(ps, 3)
    assert arrive(ps, "q", 2) == [1, 3]


def test_a_resumed_window_answers_for_windows_that_begin_after_what_was_seen(
    ps: Connection,
) -> None:
    ps.sql(
        STREAM
        + "CREATE QUERY q AS SELECT window_start AS w, count(*) AS n FROM s [RANGE 10 SECONDS];"
        "CREATE QUERY all_of_it AS SELECT n FROM s"
    )
    push(ps, *range(12))
    assert arrive(ps, "q", 1) == [10]
    ps.sql("STOP QUERY q")
    push(ps, *range(12, 25))
    arrive(ps, "all_of_it", 25)
    ps.sql("RESUME QUERY q")
    push(ps, *range(25, 45))
    assert arrive(ps, "q", 2) == [10, 10]
    assert results(ps, "q")["w"].to_pylist() == [at(0), at(30)]


def test_stop_after_tuples_takes_exactly_so_many(ps: Connection) -> None:
    ps.sql(
        STREAM + "CREATE QUERY five AS SELECT n FROM s WHERE n <> 2 STOP AFTER 5 TUPLES;"
        "CREATE QUERY all_of_it AS SELECT n FROM s"
    )
    push(ps, 1, 2)
    arrive(ps, "all_of_it", 2)
    push(ps, *range(3, 20))
    arrive(ps, "all_of_it", 19)
    until(ps, lambda: state(ps, "five") == "FINISHED")
    assert numbers(ps, "five") == [1, 3, 4, 5]
    push(ps, 20)
    arrive(ps, "all_of_it", 20)
    assert numbers(ps, "five") == [1, 3, 4, 5]


def test_stop_after_tuples_counts_over_a_restart_and_closes_windows(opener: Opener) -> None:
    with opener() as ps:
        ps.sql(
            STREAM + "CREATE QUERY q AS SELECT window_start, count(*) AS n "
            "FROM s [RANGE 10 SECONDS] STOP AFTER 4 TUPLES"
        )
        push(ps, 1, 2, 3)
        until(ps, lambda: figures(ps, "q")["rows_in"] == 3)
    with opener() as ps:
        push(ps, 4, 5, 6)
        until(ps, lambda: state(ps, "q") == "FINISHED")
        assert numbers(ps, "q") == [4]
    with opener() as ps:
        assert state(ps, "q") == "FINISHED"
        assert numbers(ps, "q") == [4]


def test_stop_after_an_interval_ends_by_the_clock(spark: SparkSession, tmp_path: Path) -> None:
    clock = HandClock(1_000.0)
    with penstock.connect(tmp_path / "home", spark=spark, clock=clock) as ps:
        ps.sql(
            STREAM + "CREATE QUERY hour AS SELECT window_start, count(*) AS n "
            "FROM s [RANGE 10 SECONDS] STOP AFTER INTERVAL 1 HOUR;"
            "CREATE QUERY all_of_it AS SELECT n FROM s"
        )
        push(ps, 1, 2, 3)
        arrive(ps, "all_of_it", 3)
        clock.sleep(3_599)
        push(ps, 4)
        arrive(ps, "all_of_it", 4)
        assert state(ps, "hour") == "RUNNING"
        clock.sleep(2)
        until(ps, lambda: state(ps, "hour") == "FINISHED")
        assert numbers(ps, "hour") == [4]


# -- restart -------------------------------------------------------------------------------

SCRIPT = """
CREATE STREAM s (ts TIMESTAMP, k STRING, n INT)
  TIMESTAMP BY ts SLACK INTERVAL 3 SECONDS FROM push();
CREATE TABLE names FROM files(path => '{table}', format => 'json');
CREATE QUERY flow AS SELECT ts, k, n * 2 AS n FROM s WHERE n % 3 <> 0;
CREATE QUERY joined AS SELECT s.n, t.name FROM s JOIN names t ON s.k = t.k;
CREATE QUERY tumbling AS SELECT window_start, k, count(*) AS n, sum(n) AS total
  FROM s [RANGE 10 SECONDS] GROUP BY k;
CREATE QUERY sliding AS SELECT window_end, max(n) AS n FROM flow [RANGE 10 SECONDS SLIDE 5 SECONDS];
CREATE QUERY minutes AS SELECT window_start, sum(n) AS n FROM tumbling [RANGE 1 MINUTE];
"""
QUERIES = ("flow", "joined", "tumbling", "sliding", "minutes")


def script(directory: Path) -> str:
    rows = [{"k": k, "name": k.upper()} for k in "abc"]
    return SCRIPT.format(table=write_json(directory / "names.json", rows))


def told(ps: Connection) -> dict[str, list[dict[str, Any]]]:
    """Return what each query has delivered, row by row."""
    return {query: results(ps, query).to_pylist() for query in QUERIES}


@pytest.fixture(scope="module")
def given_rows() -> list[list[dict[str, Any]]]:
    """Make some pushes of rows that are up to two seconds out of order."""
    chance = random.Random(7)
    rows = [row(n, n / 2 + chance.random() * 2, chance.choice("abc")) for n in range(240)]
    pushes = []
    while rows:
        size = chance.randint(1, 30)
        pushes.append(rows[:size])
        rows = rows[size:]
    return pushes


@pytest.fixture(scope="module")
def undisturbed(
    spark: SparkSession,
    tmp_path_factory: pytest.TempPathFactory,
    given_rows: list[list[dict[str, Any]]],
) -> dict[str, list[dict[str, Any]]]:
    """Return what comes out where nothing happens on the way."""
    place = tmp_path_factory.mktemp("undisturbed")
    with penstock.connect(place / "home", spark=spark) as ps:
        ps.sql(script(place))
        for rows in given_rows:
            ps.push("s", rows)
        ps.end("s")
        finish(ps)
        return told(ps)


def test_restarts_on_the_way_lose_and_repeat_nothing(
    opener: Opener,
    tmp_path: Path,
    given_rows: list[list[dict[str, Any]]],
    undisturbed: dict[str, list[dict[str, Any]]],
) -> None:
    chance = random.Random(11)
    with opener() as ps:
        ps.sql(script(tmp_path))
    left = list(given_rows)
    while left:
        with opener() as ps:
            for rows in left[: (size := chance.randint(1, 8))]:
                ps.push("s", rows)
                time.sleep(chance.random() / 10)
            left = left[size:]
    with opener() as ps:
        ps.end("s")
        finish(ps)
        assert told(ps) == undisturbed
        assert {state(ps, query) for query in QUERIES} == {"FINISHED"}


def test_a_restart_brings_back_all_that_was_there(opener: Opener, tmp_path: Path) -> None:
    with opener() as ps:
        ps.sql(script(tmp_path) + "STOP QUERY joined")
        push(ps, *range(30))
        arrive(ps, "tumbling", 2)
        arrive(ps, "sliding", 5)
        before = {
            "queries": [(r["query"], r["state"], r["rows_out"]) for r in shown_rows(ps, "QUERIES")],
            "streams": [(r["stream"], r["rows"], r["trains"]) for r in shown_rows(ps, "STREAMS")],
            "tables": shown_rows(ps, "TABLES"),
            "columns": [rows_of(ps.sql(f"DESCRIBE {each}").table) for each in (*QUERIES, "s")],
            "explained": [plan_of(ps, each) for each in QUERIES],
            "results": told(ps),
        }
    with opener() as ps:
        assert before == {
            "queries": [(r["query"], r["state"], r["rows_out"]) for r in shown_rows(ps, "QUERIES")],
            "streams": [(r["stream"], r["rows"], r["trains"]) for r in shown_rows(ps, "STREAMS")],
            "tables": shown_rows(ps, "TABLES"),
            "columns": [rows_of(ps.sql(f"DESCRIBE {each}").table) for each in (*QUERIES, "s")],
            "explained": [plan_of(ps, each) for each in QUERIES],
            "results": told(ps),
        }


def plan_of(ps: Connection, query: str) -> str:
    """Return what EXPLAIN says, without what was measured."""
    return ps.sql(f"EXPLAIN {query}").message.partition("\nmeasured")[0]


def shown_rows(ps: Connection, what: str) -> list[dict[str, Any]]:
    return rows_of(ps.sql(f"SHOW {what}").table)


def test_rows_that_were_pushed_and_not_yet_read_come_after_the_restart(opener: Opener) -> None:
    with opener() as ps:
        ps.sql(STREAM + "CREATE QUERY q AS SELECT n FROM s WHERE n > 0")
        for number in range(1, 6):
            push(ps, number)
    with opener() as ps:
        push(ps, 6)
        assert arrive(ps, "q", 6) == [1, 2, 3, 4, 5, 6]


def test_a_held_query_is_held_after_a_restart_and_may_be_resumed(opener: Opener) -> None:
    with opener() as ps:
        ps.sql(
            STREAM
            + "CREATE QUERY bad AS SELECT 1 / n AS n FROM s; CREATE QUERY ok AS SELECT n FROM s"
        )
        push(ps, 0)
        until(ps, lambda: state(ps, "bad") == "FAILED")
        assert figures(ps, "bad")["cause"].startswith("RUN_FAILED")
        assert arrive(ps, "ok", 1) == [0]
    with opener() as ps:
        assert state(ps, "bad") == "FAILED"
        push(ps, 1)
        assert arrive(ps, "ok", 2) == [0, 1]
        ps.sql("STOP QUERY bad; RESUME QUERY bad")
        push(ps, 2)
        assert arrive(ps, "bad", 1) == [0.5]


def test_a_query_that_shares_with_a_held_one_may_come_and_the_held_one_go_on(
    ps: Connection,
) -> None:
    ps.sql(STREAM + "CREATE QUERY bad AS SELECT 1 / n AS n FROM s WHERE k = 'a'")
    push(ps, 0)
    until(ps, lambda: state(ps, "bad") == "FAILED")
    ps.sql("CREATE QUERY good AS SELECT n FROM s WHERE k = 'a'")
    push(ps, 4)
    until(ps, lambda: 4 in numbers(ps, "good"))
    ps.sql("RESUME QUERY bad")
    until(ps, lambda: state(ps, "bad") == "FAILED")
    push(ps, 5)
    until(ps, lambda: 5 in numbers(ps, "good"))


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
    arrive(ps, "tumbling", 1)
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
    until(ps, lambda: figures(ps, "flow")["rows_out"] == 16)
    flow = figures(ps, "flow")
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


# -- changes while rows flow ----------------------------------------------------------------


@contextmanager
def flowing(ps: Connection) -> Iterator[list[int]]:
    """Push one row after the other until the end of the block; give the numbers."""
    pushed: list[int] = []
    over = threading.Event()

    def run() -> None:
        while not over.is_set():
            push(ps, len(pushed))
            pushed.append(len(pushed))
            time.sleep(0.005)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield pushed
    finally:
        over.set()
        thread.join()


def test_queries_that_come_and_go_leave_the_others_alone(ps: Connection) -> None:
    ps.sql(
        STREAM + "CREATE QUERY a AS SELECT n FROM s WHERE n >= 0 AND k = 'a';"
        "CREATE QUERY w AS SELECT window_start AS w, count(*) AS n FROM s [RANGE 10 SECONDS]"
    )
    with flowing(ps) as pushed:
        for number in range(4):
            until(ps, lambda number=number: len(pushed) > 20 * number)
            x, y = f"x{number}", f"y{number}"
            ps.sql(f"CREATE QUERY {x} AS SELECT n + 1 AS {x} FROM s WHERE k = 'a' AND n >= 0")
            ps.sql(f"CREATE QUERY {y} AS SELECT max(n) AS {y} FROM s [RANGE 5 SECONDS]")
            if number:
                ps.sql(f"DROP QUERY x{number - 1}; DROP QUERY y{number - 1}")
    ps.end("s")
    finish(ps)
    assert numbers(ps, "a") == pushed
    counted = numbers(ps, "w")
    assert sum(counted) == len(pushed)
    assert counted[:-1] == [10] * (len(counted) - 1)


def test_a_second_query_that_shares_a_filter_cuts_the_first_without_loss(ps: Connection) -> None:
    ps.sql(STREAM + "CREATE QUERY a AS SELECT n, k FROM s WHERE n % 2 = 0")
    with flowing(ps) as pushed:
        until(ps, lambda: len(numbers(ps, "a")) > 10)
        ps.sql("CREATE QUERY b AS SELECT n FROM s WHERE n % 2 = 0")
        assert "(shared with b)" in ps.sql("EXPLAIN a").message
        until(ps, lambda: len(numbers(ps, "b")) > 10)
    ps.end("s")
    finish(ps)
    even = [n for n in pushed if n % 2 == 0]
    assert numbers(ps, "a") == even
    second = numbers(ps, "b")
    assert second == even[-len(second) :]


def test_a_second_query_over_the_same_windows_shares_their_state(ps: Connection) -> None:
    ps.sql(
        STREAM + "CREATE QUERY a AS SELECT window_start, count(*) AS n FROM s [RANGE 10 SECONDS]"
    )
    push(ps, *range(5))
    until(ps, lambda: figures(ps, "a")["rows_in"] == 5)
    ps.sql("CREATE QUERY b AS SELECT window_end, count(*) + 1 AS n FROM s [RANGE 10 SECONDS]")
    push(ps, *range(5, 12))
    assert arrive(ps, "a", 1) == [10]
    assert arrive(ps, "b", 1) == [11]


# -- ways out -----------------------------------------------------------------------------


def next_number(subscription: Subscription) -> int:
    found = subscription.next(PATIENCE)
    assert found is not None
    return int(found["n"])


def test_a_subscriber_reads_from_the_start_from_now_or_from_a_position(ps: Connection) -> None:
    ps.sql(STREAM + "CREATE QUERY q AS SELECT n FROM s")
    push(ps, 1, 2)
    push(ps, 3)
    arrive(ps, "q", 3)
    with ps.subscribe("q") as everything:
        assert [next_number(everything) for _ in range(2)] == [1, 2]
        second = everything.position
        assert next_number(everything) == 3
    with ps.subscribe("q", after=second) as rest, ps.subscribe("q", after=None) as new:
        push(ps, 4)
        assert [next_number(rest) for _ in range(2)] == [3, 4]
        assert next_number(new) == 4
        assert rest.position == new.position > START


def test_a_subscriber_goes_on_over_a_restart_by_its_position(opener: Opener) -> None:
    with opener() as ps:
        ps.sql(STREAM + "CREATE QUERY q AS SELECT n FROM s")
        push(ps, 1, 2, 3)
        arrive(ps, "q", 3)
        with ps.subscribe("q") as subscription:
            seen, position = [next_number(subscription)], subscription.position
    with opener() as ps:
        push(ps, 4)
        ps.end("s")
        finish(ps)
        seen += [each["n"] for each in ps.subscribe("q", after=position)]
    assert seen == [1, 2, 3, 4]


def test_a_callback_is_called_once_a_delivery_and_holds_its_query_when_it_raises(
    ps: Connection,
) -> None:
    seen: list[tuple[int, list[int]]] = []
    broken = threading.Event()

    def call(rows: pa.Table, number: int) -> None:
        if broken.is_set():
            raise ValueError("broken")
        seen.append((number, rows["n"].to_pylist()))

    ps.sql(STREAM + "CREATE QUERY q AS SELECT n FROM s; CREATE QUERY other AS SELECT n FROM s")
    ps.callback("q", call)
    push(ps, 1)
    until(ps, lambda: seen == [(1, [1])])
    broken.set()
    push(ps, 2)
    until(ps, lambda: state(ps, "q") == "FAILED")
    push(ps, 3)
    assert arrive(ps, "other", 3) == [1, 2, 3]
    broken.clear()
    ps.sql("RESUME QUERY q")
    until(ps, lambda: [n for _, rows in seen for n in rows] == [1, 2, 3])
    assert [number for number, _ in seen] == sorted({number for number, _ in seen})


def test_a_tap_sees_every_delivery_of_every_query(ps: Connection) -> None:
    seen: list[tuple[str, int]] = []
    ps.tap(lambda delivery: seen.append((delivery.query, delivery.rows.num_rows)))
    ps.sql(
        STREAM + "CREATE QUERY a AS SELECT n FROM s; CREATE QUERY b AS SELECT n FROM s WHERE n > 1"
    )
    push(ps, 1, 2)
    until(ps, lambda: sorted(seen) == [("a", 2), ("b", 1)])


# -- inside the caller's Spark ----------------------------------------------------------------


def test_the_callers_spark_is_left_as_it_was(spark: SparkSession, tmp_path: Path) -> None:
    others = {each.name for each in spark.catalog.listTables()}
    spark.sql("SELECT 42 AS x").createOrReplaceTempView("mine")
    spark.conf.set("spark.sql.shuffle.partitions", "3")
    before = dict(spark.conf.getAll)
    try:
        with penstock.connect(tmp_path / "home", spark=spark) as ps:
            ps.sql(
                STREAM
                + "CREATE QUERY q AS SELECT k, count(*) AS n FROM s [RANGE 1 MINUTE] GROUP BY k"
            )
            push(ps, 1, 2)
            ps.end("s")
            finish(ps)
            assert numbers(ps, "q") == [2]
            assert {each.name for each in spark.catalog.listTables()} == others | {"mine"}
            assert code(ps, "SELECT * FROM mine") == "UNKNOWN_NAME"
        assert dict(spark.conf.getAll) == before
        assert spark.table("mine").collect()[0]["x"] == 42
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", "2")
        spark.catalog.dropTempView("mine")


def test_a_home_is_free_again_after_close_and_closing_twice_is_nothing(opener: Opener) -> None:
    ps = opener()
    with pytest.raises(PenstockError) as refused:
        opener()
    assert refused.value.code == "HOME_BUSY"
    ps.close()
    ps.close()
    opener().close()
