import json

import pyarrow as pa
import pytest

from penstock.cli.formats import FORMATS, Format
from penstock.cli.formats.rolling_table import RollingTable

ROWS = pa.table({"road": ["a,b", None], "cars": [1, 2]})


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_every_format_ends_its_pieces_with_a_newline(name: str) -> None:
    form: Format = FORMATS[name](lambda: None)
    assert form.rows("q", ROWS).endswith(b"\n")
    assert form.table("SHOW QUERIES", ROWS).endswith(b"\n")
    assert form.text("EXPLAIN q", "a plan").endswith(b"\n")


def test_json_says_on_each_line_whose_row_it_is() -> None:
    lines = FORMATS["json"](lambda: None).rows('left "turns"\n', ROWS).decode().splitlines()
    assert [json.loads(line) for line in lines] == [
        {"query": 'left "turns"\n', "row": {"road": "a,b", "cars": 1}},
        {"query": 'left "turns"\n', "row": {"road": None, "cars": 2}},
    ]


def test_json_of_a_statement_can_be_told_from_a_query_s() -> None:
    form = FORMATS["json"](lambda: None)
    line = json.loads(form.table("SELECT 1", pa.table({"1": [1]})))
    assert line == {"statement": "SELECT 1", "row": {"1": 1}}
    assert json.loads(form.text("EXPLAIN q", "a\nb")) == {"statement": "EXPLAIN q", "text": "a\nb"}


def test_no_rows_are_no_lines() -> None:
    assert FORMATS["json"](lambda: None).rows("q", ROWS.slice(0, 0)) == b""


def test_csv_has_a_heading_once_a_query_and_its_name_before_each_row() -> None:
    form = FORMATS["csv"](lambda: None)
    assert form.rows("q", ROWS) == b'query,road,cars\nq,"a,b",1\nq,,2\n'
    assert form.rows("q", ROWS.slice(1)) == b"q,,2\n"
    assert form.rows("p,1", pa.table({"x": [1]})) == b'query,x\n"p,1",1\n'


def test_a_table_is_a_block_below_the_query_s_name() -> None:
    assert FORMATS["table"](lambda: None).rows("q", ROWS).decode() == (
        "q\nroad | cars\n-----+-----\na,b  |    1\nNULL |    2\n\n"
    )


WIDE = pa.table({"query": ["a", "b"], "first": ["x" * 30, "y"], "second": [1, 2], "third": [3, 4]})


def test_a_table_that_is_too_wide_for_the_terminal_is_cut_between_columns() -> None:
    text = FORMATS["table"](lambda: 45).table("SHOW QUERIES", WIDE).decode()
    blocks = text.strip().split("\n\n")
    assert [block.splitlines()[0].split() for block in blocks] == [
        ["query", "|", "first"],
        ["query", "|", "second", "|", "third"],
    ]
    assert max(map(len, text.splitlines())) <= 45


def test_a_table_that_fits_or_goes_to_a_file_is_left_whole() -> None:
    whole = FORMATS["table"](lambda: None).table("SHOW QUERIES", WIDE)
    assert FORMATS["table"](lambda: 80).table("SHOW QUERIES", WIDE) == whole
    assert len(whole.decode().strip().splitlines()) == 4


def test_rows_that_keep_coming_have_one_heading_while_their_widths_last() -> None:
    form = RollingTable()
    row = pa.table({"road": ["north"], "cars": [1]})
    assert form.rows("q", row).decode().splitlines()[0] == "road  | cars"
    assert form.rows("q", row).decode() == "north |    1\n"
    wider = pa.table({"road": ["southwest"], "cars": [1]})
    assert form.rows("q", wider).decode().splitlines()[0] == "road      | cars"


def test_the_heading_comes_again_before_it_is_out_of_sight() -> None:
    form = RollingTable()
    row = pa.table({"cars": [1]})
    texts = [form.rows("q", row).decode() for _ in range(41)]
    assert [place for place, text in enumerate(texts) if "cars" in text] == [0, 20, 40]


def test_rows_that_are_too_wide_to_roll_are_blocks() -> None:
    form = RollingTable(lambda: 30)
    assert form.rows("q", WIDE) == FORMATS["table"](lambda: 30).rows("q", WIDE)
