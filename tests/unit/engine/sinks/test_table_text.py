import pyarrow as pa

from penstock.engine.sinks.table_text import table_text


def test_columns_are_aligned_numbers_to_the_right() -> None:
    table = pa.table({"car": ["a", "longer", None], "mph": [5, 100, None], "ok": [["x"], [], None]})
    assert table_text(table) == (
        "car    |  mph | ok\n"
        "-------+------+------\n"
        'a      |    5 | ["x"]\n'
        "longer |  100 | []\n"
        "NULL   | NULL | NULL\n"
    )


def test_no_rows_leave_the_heading() -> None:
    assert table_text(pa.table({"a": pa.array([], pa.int64())})) == "a\n-\n"


def test_a_cell_cannot_steer_the_terminal() -> None:
    assert "\x1b" not in table_text(pa.table({"a\x1b[0m": ["red\x1b[31m\nnext\u009b"]}))
    assert len(table_text(pa.table({"a": ["one\ntwo\r"]})).splitlines()) == 3


def test_wide_characters_take_two_columns() -> None:
    lines = table_text(pa.table({"a": ["日本", "abcd"], "b": ["x", "y"]})).splitlines()
    assert lines[2:] == ["日本 | x", "abcd | y"]


def test_a_long_cell_is_cut() -> None:
    lines = table_text(pa.table({"a": ["x" * 500], "b": ["日" * 100]})).splitlines()
    assert lines[2] == "x" * 59 + "… | " + "日" * 29 + " …"
