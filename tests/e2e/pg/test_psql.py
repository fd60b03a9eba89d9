"""psql itself, over a home that a test has laid out."""

import pytest

from tests.e2e.pg.conftest import FAST, Psql
from tests.e2e.pg.memory_home import MemoryHome

PLAIN = ("-A", "-t")


def test_backslash_d_lists_what_there_is(psql: Psql) -> None:
    assert psql("\\d", options=PLAIN).splitlines() == [
        "public|fast|view|me",
        "public|hits|table|me",
    ]
    assert psql("\\dt", options=PLAIN).splitlines() == ["public|hits|table|me"]
    assert psql("\\dv", options=PLAIN).splitlines() == ["public|fast|view|me"]


def test_backslash_d_describes_a_stream_and_a_query(psql: Psql) -> None:
    assert psql("\\d hits", options=PLAIN).splitlines() == [
        "ts|timestamp with time zone|||",
        "car|text|||",
        "mph|integer|||",
        "xs|bigint[]|||",
        "d|numeric(10,2)|||",
        "s|json|||",
    ]
    assert "SELECT ts, car, mph FROM hits WHERE mph > 60" in psql("\\d+ fast")


@pytest.mark.parametrize(
    "command", ["\\l", "\\dn+", "\\du", "\\di", "\\dT", "\\df", "\\db", "\\dx", "\\dp", "\\dt+"]
)
def test_other_commands_have_answers_as_well(psql: Psql, command: str) -> None:
    assert "ERROR" not in psql(command)


def test_rows_are_shown(psql: Psql) -> None:
    assert psql("SELECT * FROM hits", options=PLAIN) == (
        '2026-01-02 03:04:05.6+00|a|61|{1,2,NULL}|12.50|{"a": 1, "b": "x"}\n'
    )
    assert psql("EXPLAIN fast", options=PLAIN) == "first\nsecond\n"


def test_a_place_is_told_in_the_text_that_was_typed(psql: Psql) -> None:
    told = psql(
        "SELECT \"a\", 'x\\y' /* a\ncomment */\n  FROM missing", options=("-v", "VERBOSITY=verbose")
    )
    assert told.splitlines()[:3] == [
        "ERROR:  42P01: no stream missing",
        "LINE 3:   FROM missing",
        "               ^",
    ]


def test_a_script_goes_to_penstock_as_one(psql: Psql, home: MemoryHome) -> None:
    told = psql("CREATE QUERY a AS SELECT 1; DROP QUERY b; BEGIN; STOP QUERY c")
    assert {"CREATE QUERY", "DROP QUERY", "BEGIN", "STOP"} <= set(told.splitlines())
    assert home.asked == ["CREATE QUERY a AS SELECT 1 ;  DROP QUERY b", "STOP QUERY c"]


def test_copy_prints_rows_while_they_come(psql: Psql, home: MemoryHome) -> None:
    home.deliver("fast", FAST)
    home.end_after = 1
    assert psql("COPY (SUBSCRIBE fast) TO STDOUT WITH (FORMAT csv, HEADER)") == (
        "ts,car,mph\n2026-01-02 03:04:05.6+00,a,61\n"
    )


def test_a_cursor_gives_rows_in_parts(psql: Psql, home: MemoryHome) -> None:
    home.deliver("fast", FAST)
    home.deliver("fast", FAST)
    told = psql(
        "BEGIN",
        "DECLARE c CURSOR FOR SUBSCRIBE fast WITH POSITION AFTER '1-0'",
        "FETCH 10 FROM c",
        "COMMIT",
        options=PLAIN,
    )
    assert told.splitlines() == [
        "BEGIN",
        "DECLARE CURSOR",
        "2-0|2026-01-02 03:04:05.6+00|a|61",
        "COMMIT",
    ]
