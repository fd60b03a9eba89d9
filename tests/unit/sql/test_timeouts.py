"""SET statement_timeout and SET run_timeout."""

from datetime import timedelta

import pytest

from penstock.errors import PenstockError
from penstock.sql import SetTimeout, parse


@pytest.mark.parametrize(
    ("text", "what", "length"),
    [
        ("SET statement_timeout = '30 seconds'", "STATEMENT_TIMEOUT", timedelta(seconds=30)),
        ("set Statement_Timeout = INTERVAL 1 HOUR 30 MINUTES", "STATEMENT_TIMEOUT", "90"),
        ("SET run_timeout = 500 MILLISECONDS", "RUN_TIMEOUT", timedelta(seconds=0.5)),
        ("SET run_timeout = NONE", "RUN_TIMEOUT", None),
    ],
)
def test_a_time_out_is_a_length_of_time(
    text: str, what: str, length: timedelta | str | None
) -> None:
    expected = timedelta(minutes=int(length)) if isinstance(length, str) else length
    (found,) = parse(text)
    assert isinstance(found, SetTimeout)
    assert (found.what, found.length) == (what, expected)


@pytest.mark.parametrize(
    ("text", "code", "column"),
    [
        ("SET statement_timeout '30 seconds'", "SQL_SYNTAX", 23),
        ("SET statement_timeout = 30", "SQL_SYNTAX", 27),
        ("SET statement_timeout = '0 seconds'", "BAD_OPTION", 25),
        ("SET run_timeout = -1 SECOND", "BAD_OPTION", 19),
        ("SET run_timeout = '1 month'", "BAD_OPTION", 19),
        ("SET run_timeout = '1 second' WITH (a => 1)", "SQL_SYNTAX", 30),
        ("SET runtimeout = '1 second'", "SQL_SYNTAX", 5),
    ],
)
def test_what_is_none_is_told_at_its_place(text: str, code: str, column: int) -> None:
    with pytest.raises(PenstockError) as caught:
        parse(text)
    assert caught.value.place is not None
    assert (caught.value.code, caught.value.place.column) == (code, column)
    assert caught.value.hint
