from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import BadOptionError, SqlError
from penstock.sql import CreateTable, parse
from penstock.sql.dialect.intervals import duration_sql


def option(text: str) -> object:
    (statement,) = parse(f"CREATE TABLE t FROM f(x => {text})")
    assert isinstance(statement, CreateTable)
    return statement.definition.source.option("x")


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("INTERVAL 2 SECONDS", timedelta(seconds=2)),
        ("INTERVAL '2' SECOND", timedelta(seconds=2)),
        ("INTERVAL '1.5 seconds'", timedelta(seconds=1.5)),
        ('INTERVAL "1.5" SECONDS', timedelta(seconds=1.5)),
        ("INTERVAL 1 HOUR", timedelta(hours=1)),
        ("interval 3 days", timedelta(days=3)),
        ("INTERVAL 2 WEEKS", timedelta(weeks=2)),
        ("INTERVAL .5 MINUTES", timedelta(seconds=30)),
        ("INTERVAL 7 MILLISECONDS", timedelta(milliseconds=7)),
        ("INTERVAL 7 MICROSECONDS", timedelta(microseconds=7)),
        ("INTERVAL 1 HOUR 30 MINUTES", timedelta(minutes=90)),
        ("INTERVAL '1 hour 30 minutes'", timedelta(minutes=90)),
        ("INTERVAL ' 1hour -30minutes '", timedelta(minutes=30)),
        ("INTERVAL -1 DAY", timedelta(days=-1)),
        ("INTERVAL '-1' DAY", timedelta(days=-1)),
        ("INTERVAL 0 SECONDS", timedelta(0)),
    ],
)
def test_an_interval_is_a_length_of_time(text: str, length: timedelta) -> None:
    assert option(text) == length


@settings(deadline=None)
@given(st.timedeltas())
def test_a_length_of_time_reads_as_it_was_printed(length: timedelta) -> None:
    assert option(f"INTERVAL {duration_sql(length)}") == length


@pytest.mark.parametrize("unit", ["MONTH", "months", "YEARS", "QUARTER"])
def test_a_unit_without_a_fixed_length_is_refused_with_a_hint(unit: str) -> None:
    with pytest.raises(BadOptionError) as caught:
        option(f"INTERVAL 1 {unit}")
    assert caught.value.hint


@pytest.mark.parametrize("text", ["INTERVAL 2", "INTERVAL '2'", "INTERVAL 'x'", "INTERVAL 1 DAYZ"])
def test_what_is_no_length_of_time_is_refused(text: str) -> None:
    with pytest.raises(SqlError):
        option(text)
