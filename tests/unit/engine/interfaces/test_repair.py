"""Lines in other words: the same values, whole numbers and times in Spark's form."""

import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine.interfaces.formats.repair import MICROSECONDS, mended_csv, mended_json
from penstock.model.schema import Column, Schema

SCHEMA = Schema(
    (
        Column("ts", "timestamp"),
        Column("n", "int"),
        Column("d", "decimal(38,18)"),
        Column("t", "string"),
    )
)
NAMES = ("ts", "n", "d", "t")


@given(st.decimals(-(10**10), 10**10, places=6), st.decimals(0, 10**18, places=18))
def test_the_seconds_and_their_fraction_are_those_of_the_number(
    at: Decimal, other: Decimal
) -> None:
    line = f'{{"ts": {at:f}, "d": {other:f}, "t": "\\u0000 \\"é"}}'
    mended = mended_json(line, SCHEMA, lenient=False)
    assert mended is not None
    again = json.loads(mended.line, parse_float=Decimal)
    assert again["ts"] * MICROSECONDS + mended.microseconds["ts"] == at * MICROSECONDS
    assert 0 <= mended.microseconds["ts"] < MICROSECONDS
    assert again["d"] == other
    assert again["t"] == '\0 "é'


@pytest.mark.parametrize(
    ("line", "n"),
    [
        ('{"n": 2.0}', 2),
        ('{"n": -2e3}', -2000),
        ('{"n": 2.5}', None),
        ('{"n": "2.0"}', None),
        ('{"n": 1e999999}', None),
        ('{"n": 2', None),
        ("[2.0]", None),
        ('{"n": NaN}', None),
    ],
)
def test_whole_numbers_fit_where_the_source_is_lenient(line: str, n: int | None) -> None:
    assert mended_json(line, SCHEMA, lenient=False) is None
    mended = mended_json(line, SCHEMA, lenient=True)
    assert (None if mended is None else json.loads(mended.line)["n"]) == n


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('x,2.0,3.0,""', 'x,2,3.0,""'),
        ('x,"2.0",,"a,""b"', 'x,2,,"a,""b"'),
        ("x,-2.,,", "x,-2,,"),
        ("x,2e2,,", "x,200,,"),
        ("x,2.5,,", None),
        ("x,1e999999999,,", None),
        ("x,nan,,", None),
        ("x,inf,,", None),
        ("x,,,", None),
        ("x,2.0", None),
    ],
)
def test_whole_numbers_of_csv_lose_their_fraction_and_nothing_else(
    line: str, expected: str | None
) -> None:
    mended = mended_csv(line, NAMES, SCHEMA, ",")
    assert (None if mended is None else mended.line) == expected
