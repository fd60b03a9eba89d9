import json

import pyarrow as pa
import pytest

from penstock.cli.formats import FORMATS, Format

ROWS = pa.table({"road": ["a,b", None], "cars": [1, 2]})


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_every_format_ends_its_pieces_with_a_newline(name: str) -> None:
    form: Format = FORMATS[name]()
    assert form.rows("q", ROWS).endswith(b"\n")
    assert form.table("SHOW QUERIES", ROWS).endswith(b"\n")
    assert form.text("EXPLAIN q", "a plan").endswith(b"\n")


def test_json_says_on_each_line_whose_row_it_is() -> None:
    lines = FORMATS["json"]().rows('left "turns"\n', ROWS).decode().splitlines()
    assert [json.loads(line) for line in lines] == [
        {"query": 'left "turns"\n', "row": {"road": "a,b", "cars": 1}},
        {"query": 'left "turns"\n', "row": {"road": None, "cars": 2}},
    ]


def test_json_of_a_statement_can_be_told_from_a_query_s() -> None:
    form = FORMATS["json"]()
    line = json.loads(form.table("SELECT 1", pa.table({"1": [1]})))
    assert line == {"statement": "SELECT 1", "row": {"1": 1}}
    assert json.loads(form.text("EXPLAIN q", "a\nb")) == {"statement": "EXPLAIN q", "text": "a\nb"}


def test_no_rows_are_no_lines() -> None:
    assert FORMATS["json"]().rows("q", ROWS.slice(0, 0)) == b""


def test_csv_has_a_heading_once_a_query_and_its_name_before_each_row() -> None:
    form = FORMATS["csv"]()
    assert form.rows("q", ROWS) == b'query,road,cars\nq,"a,b",1\nq,,2\n'
    assert form.rows("q", ROWS.slice(1)) == b"q,,2\n"
    assert form.rows("p,1", pa.table({"x": [1]})) == b'query,x\n"p,1",1\n'


def test_a_table_is_a_block_below_the_query_s_name() -> None:
    assert FORMATS["table"]().rows("q", ROWS).decode() == (
        "q\nroad | cars\n-----+-----\na,b  |    1\nNULL |    2\n\n"
    )
