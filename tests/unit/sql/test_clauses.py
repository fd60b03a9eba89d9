from datetime import timedelta
from itertools import permutations

import pytest

from penstock.model.definitions import QueryDefinition, StopAfter, StreamDefinition
from penstock.sql import CreateQuery, CreateStream, parse

OF_STREAM = (
    "TIMESTAMP BY ts",
    "SLACK INTERVAL 1 SECOND",
    "VALID FOR INTERVAL 2 SECONDS",
    "ARCHIVE FOR INTERVAL 7 DAYS",
    "IDLE AFTER INTERVAL 30 SECONDS",
    "FROM push()",
)
OF_QUERY = (
    "STOP AFTER 10 TUPLES",
    "EMIT EARLY EVERY INTERVAL 10 SECONDS",
    "ALLOWED LATENESS INTERVAL 1 MINUTE",
    "INTO console()",
)


def stream(clauses: str) -> StreamDefinition:
    (statement,) = parse(f"CREATE STREAM s (ts TIMESTAMP) {clauses}")
    assert isinstance(statement, CreateStream)
    return statement.definition


def query(clauses: str, options: str = "") -> QueryDefinition:
    (statement,) = parse(f"CREATE QUERY q {options} AS SELECT a FROM s {clauses}")
    assert isinstance(statement, CreateQuery)
    return statement.definition


def test_a_stream_s_clauses_stand_in_any_order() -> None:
    for order in permutations(OF_STREAM):
        found = stream(" ".join(order))
        assert (found.archive_for, found.idle_after) == (timedelta(days=7), timedelta(seconds=30))
        assert (found.slack, found.valid_for) == (timedelta(seconds=1), timedelta(seconds=2))


def test_a_query_s_clauses_stand_in_any_order() -> None:
    for order in permutations(OF_QUERY):
        found = query(" ".join(order))
        assert found.emit_early == timedelta(seconds=10)
        assert found.allowed_lateness == timedelta(minutes=1)
        assert found.stop_after == StopAfter(tuples=10)
        assert found.sink is not None
        assert found.select == "SELECT a FROM s"


def test_what_is_not_said_is_none() -> None:
    bare = stream("FROM push()")
    assert (bare.archive_for, bare.idle_after) == (None, None)
    plain = query("")
    assert (plain.emit_early, plain.allowed_lateness, plain.join) == (None, None, "recompute")


@pytest.mark.parametrize("mode", ["recompute", "reuse"])
def test_a_join_s_mode_stands_among_the_goals_and_is_none_of_them(mode: str) -> None:
    found = query("", f"WITH (weight => 2, join => '{mode}')")
    assert (found.join, found.goals.weight) == (mode, 2.0)


@pytest.mark.parametrize("clause", ["INTO console()", "STOP AFTER 5 TUPLES", "SHED BY n"])
@pytest.mark.parametrize("name", ["`k`", "`into`", "`stop`", "k"])
@pytest.mark.parametrize(
    "before", ["WHERE n >", "[RANGE 1 SECOND] GROUP BY n,", "[ROWS 9] ORDER BY"]
)
def test_clauses_stand_after_a_name_in_backticks(before: str, name: str, clause: str) -> None:
    made = parse(f"CREATE QUERY q AS SELECT n FROM s {before} {name} {clause}")[0]
    assert isinstance(made, CreateQuery)
    assert clause not in made.select.sql()
