"""Definitions come and go, queries stop and go on, and nobody loses a row."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.client import Connection
from penstock.clock import HandClock
from penstock.errors import PenstockError
from penstock.model.definitions import QueryState
from penstock.runtime.durable.result_row import Position
from penstock.runtime.loop import graph_cutter
from tests.e2e.numbered import STREAM, Opener, arrive, at, code, numbers, push, script, state
from tests.e2e.support import (
    figures,
    results,
    rows_of,
    until,
    write_json,
)

pytestmark = pytest.mark.spark


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


def test_a_script_that_fails_leaves_nothing_that_it_added(ps: Connection) -> None:
    ps.sql("CREATE STREAM old (n INT) FROM push(); CREATE QUERY r AS SELECT n FROM old")
    script = f"""
        CREATE STREAM TYPE kind (n INT);
        {STREAM}
        CREATE STREAM typed OF kind FROM push();
        CREATE QUERY p AS SELECT n FROM s;
        CREATE EVENT e AS SELECT n FROM s WHERE n > 1;
        CREATE RULE note ON e DO INSERT INTO typed SELECT n;
        CREATE OR REPLACE QUERY r AS SELECT n + 1 AS n FROM old;
        CREATE QUERY q AS SELECT {{column}} FROM p;
    """
    assert code(ps, script.format(column="nada")) == "UNKNOWN_COLUMN"
    left = {"STREAMS": ["old"], "QUERIES": ["r"], "EVENTS": [], "RULES": [], "TYPES": []}
    for what, names in left.items():
        assert [next(iter(row.values())) for row in rows_of(ps.sql(f"SHOW {what}").table)] == names
    ps.sql(script.format(column="n"))


def test_a_statement_that_fails_leaves_no_trace_of_itself(ps: Connection, tmp_path: Path) -> None:
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


def test_whoever_subscribes_just_after_the_end_is_told_that_nothing_comes(ps: Connection) -> None:
    ps.sql(STREAM + "CREATE QUERY q AS SELECT n FROM s")
    push(ps, 1)
    arrive(ps, "q", 1)
    query = ps.system.topology.queries["q"]
    with ps.system.supervisor.resting():  # it has ended, and nobody has let go of it yet
        query.state = QueryState.FINISHED
        query.end()
        assert not ps.system.supervisor._is_idle()
        reader = ps.subscribe("q")
        query.state = QueryState.RUNNING
    assert len(list(iter(lambda: reader.next(timeout=5), None))) == 1
    assert reader.ended


def test_nobody_is_told_that_all_is_done_while_the_graph_is_cut(
    ps: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    until(ps, lambda: ps.wait(0))
    told, connect = list[bool](), graph_cutter.connect

    def watched(*given: Any) -> None:
        told.append(ps.wait(0))
        connect(*given)

    monkeypatch.setattr(graph_cutter, "connect", watched)
    ps.sql(STREAM + "CREATE QUERY q AS SELECT n FROM s")
    ps.sql("DROP QUERY q")
    until(ps, lambda: ps.wait(0))
    assert told
    assert not any(told)


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
        until(ps, lambda: figures(ps, "hour")["rows_in"] == 4)
        assert state(ps, "hour") == "RUNNING"
        clock.sleep(2)
        until(ps, lambda: state(ps, "hour") == "FINISHED")
        assert numbers(ps, "hour") == [4]
