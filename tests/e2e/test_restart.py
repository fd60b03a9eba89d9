"""What stood before a restart stands after it, and no row is lost or repeated."""

import random
import time
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.client import Connection
from tests.e2e.numbered import (
    QUERIES,
    STREAM,
    Opener,
    arrive,
    numbers,
    push,
    row,
    script,
    shown_rows,
    state,
)
from tests.e2e.support import (
    figures,
    finish,
    results,
    rows_of,
    until,
)

pytestmark = pytest.mark.spark


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
        for query, count in (("flow", 20), ("tumbling", 2), ("sliding", 5)):
            arrive(ps, query, count)
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
