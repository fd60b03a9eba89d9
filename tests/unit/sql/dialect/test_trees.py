import pytest
from sqlglot import exp

from penstock.errors import BadQueryError, SqlError
from penstock.model.windows import RowsWindow
from penstock.sql import parse_select, spark_sql, to_sql, window_of, without_windows

TEXT = "SELECT a FROM s [ROWS 3] AS x WHERE a IN (SELECT b FROM t [ROWS 4])"


def test_without_windows_leaves_the_tree_alone_and_drops_every_window_of_its_copy() -> None:
    tree = parse_select(TEXT)
    hash(tree)  # a hash that was kept would make the copy equal to the tree
    bare = without_windows(tree)
    assert bare == parse_select("SELECT a FROM s AS x WHERE a IN (SELECT b FROM t)")
    assert tree == parse_select(TEXT)


def test_trees_that_differ_in_a_window_are_not_equal() -> None:
    assert parse_select("SELECT a FROM s [ROWS 3]") != parse_select("SELECT a FROM s [ROWS 4]")
    assert parse_select("SELECT a FROM s [ROWS 3]") != parse_select("SELECT a FROM s")


def test_equal_windows_that_are_written_differently_are_equal() -> None:
    one, other = "SELECT a FROM s [RANGE 1 HOUR]", "select a from s [range '60' minute] -- so"
    assert parse_select(one) == parse_select(other)


def test_a_copy_has_its_windows() -> None:
    table = parse_select(TEXT).copy().find(exp.Table)
    assert table is not None
    assert window_of(table) == RowsWindow(3)


def test_spark_gets_no_windows() -> None:
    tree = parse_select(TEXT)
    with pytest.raises(BadQueryError):
        spark_sql(tree)
    assert spark_sql(without_windows(tree)) == to_sql(without_windows(tree))


def test_a_part_of_a_tree_prints_too() -> None:
    tree = parse_select("SELECT a + xs[0] AS b FROM s [ROWS 3]")
    assert spark_sql(tree.selects[0]) == "a + xs[0] AS b"


def test_a_tree_that_is_too_deep_to_print_is_refused() -> None:
    tree: exp.Expr = exp.column("a")
    for _ in range(5000):
        tree = exp.Paren(this=tree)
    with pytest.raises(SqlError):
        to_sql(tree)


def test_late_rows_and_rejects_have_names_of_two_parts() -> None:
    tree = parse_select("SELECT * FROM left_turns.late, traffic.rejects AS r")
    assert [(table.db, table.name) for table in tree.find_all(exp.Table)] == [
        ("left_turns", "late"),
        ("traffic", "rejects"),
    ]


def test_a_tree_that_had_to_be_read_from_its_text_knows_no_places() -> None:
    tree = parse_select("SELECT [1, 2] AS xs FROM s")  # sqlglot's reading; it prints as array(1, 2)
    assert parse_select(to_sql(tree)) == tree
    assert not any("line" in node.meta for node in tree.walk())


def test_a_tree_that_sqlglot_cannot_print_is_refused() -> None:
    size = exp.DataTypeParam(this=exp.var("x"))
    with pytest.raises(SqlError):
        to_sql(exp.DataType(this=exp.DType.FLOAT, expressions=[size]))


def test_nodes_know_where_in_the_script_they_stand() -> None:
    column = parse_select("SELECT 1,\n  speed FROM s").find(exp.Column)
    assert column is not None
    assert (column.this.meta["line"], column.this.meta["start"]) == (2, 12)
