import csv
import io
from datetime import UTC, datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine.sinks.csv_text import csv_text

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))


def test_values_are_written_as_elsewhere_and_nested_ones_as_json() -> None:
    table = pa.table(
        {
            "n": [1],
            "x": [1.0],
            "d": pa.array([Decimal("0.10")], pa.decimal128(9, 2)),
            "ts": pa.array([datetime(2026, 1, 1, tzinfo=UTC)], pa.timestamp("us", tz="UTC")),
            "l": [["a", None]],
            "s": [{"k": 1}],
        }
    )
    assert csv_text(table, header=False).decode() == (
        '1,1.0,0.10,2026-01-01T00:00:00Z,"[""a"",null]","{""k"":1}"\n'
    )


def test_a_null_is_nothing_and_an_empty_text_is_quoted() -> None:
    table = pa.table({"a": ["", None, "x"], "b": [None, 1, 2]})
    assert csv_text(table).decode() == 'a,b\n"",\n,1\nx,2\n'


def test_a_null_in_the_only_column_is_still_a_line() -> None:
    assert csv_text(pa.table({"a": [None, "x"]})).decode() == 'a\n""\nx\n'


def test_no_rows_give_the_names_only() -> None:
    table = pa.table({"a": pa.array([], pa.int64()), "b, c": pa.array([], pa.int64())})
    assert csv_text(table) == b'a,"b, c"\n'
    assert csv_text(table, header=False) == b""


@pytest.mark.parametrize("header", [True, False])
@given(st.lists(st.tuples(TEXTS, TEXTS), max_size=5))
def test_texts_read_back_as_they_were(header: bool, rows: list[tuple[str, str]]) -> None:
    table = pa.table(
        {name: pa.array([row[i] for row in rows], pa.string()) for i, name in enumerate('x"')}
    )
    text = csv_text(table, header=header).decode()
    found = [tuple(row) for row in csv.reader(io.StringIO(text, newline=""))]
    assert found == [*([("x", '"')] if header else []), *rows]
