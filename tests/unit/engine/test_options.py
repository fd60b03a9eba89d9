from datetime import UTC, datetime, timedelta

import pytest

from penstock.engine.options import (
    Declared,
    Kind,
    flag,
    interval,
    moment,
    near_miss,
    number,
    one_character,
    one_of,
    read_options,
    text,
    whole,
)
from penstock.errors import BadOptionError, UnknownOptionError
from penstock.model.definitions import Connector, Expression, Option

OPTIONS = {
    "path": Declared(text, required=True),
    "format": Declared(one_of("json", "csv"), default="json"),
    "rows": Declared(whole()),
}
NEW_YEAR = datetime(2024, 1, 1, tzinfo=UTC)


def test_what_is_left_out_has_its_default() -> None:
    options = read_options(Connector("files", (("path", "x"),)), OPTIONS)
    assert options == {"path": "x", "format": "json", "rows": None}


def test_an_unknown_option_is_named_with_its_near_miss() -> None:
    with pytest.raises(UnknownOptionError) as raised:
        read_options(Connector("files", (("path", "x"), ("formt", "csv"))), OPTIONS)
    assert raised.value.code == "UNKNOWN_OPTION"
    assert "formt" in raised.value.message
    assert raised.value.hint == "did you mean format?"


def test_without_a_near_miss_all_names_are_shown() -> None:
    assert near_miss("zzz", ["b", "a"]) == "there is a, b"


def test_a_required_option_that_is_missing_is_named() -> None:
    with pytest.raises(BadOptionError) as raised:
        read_options(Connector("files"), OPTIONS)
    assert "path" in raised.value.message


def test_an_option_given_twice_is_refused() -> None:
    with pytest.raises(BadOptionError):
        read_options(Connector("files", (("path", "x"), ("path", "y"))), OPTIONS)


def test_a_value_of_the_wrong_kind_is_told_with_its_option() -> None:
    with pytest.raises(BadOptionError) as raised:
        read_options(Connector("files", (("path", "x"), ("rows", "many"))), OPTIONS)
    assert "rows" in raised.value.message
    assert "'many'" in raised.value.message


@pytest.mark.parametrize(
    ("kind", "given", "taken"),
    [
        (text, "a", "a"),
        (one_character, ";", ";"),
        (flag, True, True),
        (interval, timedelta(seconds=1), timedelta(seconds=1)),
        (whole(), 3, 3),
        (number(least=0, most=1, words="from 0 to 1"), 1, 1.0),
        (one_of("json", "csv"), "CSV", "csv"),
        (moment, "2024-01-01", NEW_YEAR),
        (moment, "2024-01-01T02:00:00+02:00", NEW_YEAR),
        (moment, Expression("TIMESTAMP '2024-01-01 00:00:00'"), NEW_YEAR),
        (moment, Expression("CAST('2024-01-01 00:00:00' AS TIMESTAMP)"), NEW_YEAR),
    ],
)
def test_a_kind_takes_what_fits(kind: Kind, given: Option, taken: object) -> None:
    assert kind(given) == taken


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        (text, ""),
        (text, 5),
        (text, Expression("a + b")),
        (one_character, ",,"),
        (flag, 1),
        (flag, "true"),
        (interval, timedelta(0)),
        (interval, "1 second"),
        (whole(), 0),
        (whole(), True),
        (whole(), 1.5),
        (number(least=0, most=1, words="from 0 to 1"), 1.1),
        (number(least=0, most=1, words="from 0 to 1"), False),
        (number(least=0, most=1, words="from 0 to 1"), float("nan")),
        (one_of("json", "csv"), "xml"),
        (moment, "yesterday"),
        (moment, Expression("now()")),
        (moment, 5),
    ],
)
def test_a_kind_refuses_what_does_not(kind: Kind, given: Option) -> None:
    with pytest.raises(BadOptionError):
        read_options(Connector("c", (("o", given),)), {"o": Declared(kind)})
