"""GSDM's window functions in a function's SELECT: what they stand for, and what they refuse."""

import pytest
from sqlglot import exp

from penstock.errors import PenstockError
from penstock.model.definitions import DeclaredParameter, FunctionDefinition
from penstock.model.windows import RowsWindow
from penstock.plan.relations.bind_function import filled_body, typical
from penstock.sql import flow_of, spark_sql, window_of


def body(text: str, *values: str) -> exp.Expr:
    names = ("a", "b")[: len(values)]
    parameters = tuple(DeclaredParameter(name, "INT") for name in names)
    definition = FunctionDefinition("f", "s", "radio", parameters, "radio", text)
    return filled_body(definition, [exp.maybe_parse(each) for each in values], None)


def read(tree: exp.Expr) -> exp.Expr:
    found: exp.Expr = tree.args["from_"].this
    return found


def test_the_current_window_is_the_stream() -> None:
    table = read(body("SELECT x FROM currentWindow(s) AS w"))
    assert (table.name, table.alias) == ("s", "w")
    assert window_of(table) is None
    assert flow_of(table) is None


def test_sliding_windows_are_windows_of_tuples() -> None:
    assert window_of(read(body("SELECT x FROM slidingWindow(s, 4, 2)"))) == RowsWindow(4, 2)
    assert window_of(read(body("SELECT x FROM slidingWindow(s, a, b)", "6", "3"))) == (
        RowsWindow(6, 3)
    )
    assert window_of(read(body("SELECT x FROM slidingWindow(s, 4)"))) == RowsWindow(4, 4)


def test_aggregates_over_time_windows_are_grouped_by_the_window() -> None:
    tree = body("SELECT count(*) AS n FROM timeWindow(s, a)", "3")
    flow = flow_of(read(tree))
    assert flow is not None
    assert str(flow.term) == "time_windows(3.0)"
    assert spark_sql(tree).endswith("GROUP BY window_end, window_item")
    keyed = body("SELECT k, max(x) AS x FROM timeWindow(s, 0.5) GROUP BY k")
    assert spark_sql(keyed).endswith("GROUP BY k, window_end, window_item")
    shown = body("SELECT x FROM timeWindow(s, 3)")
    assert shown.args.get("group") is None


def test_a_function_is_looked_at_with_values_that_fit_its_parameters() -> None:
    parameters = (DeclaredParameter("since", "DATE"), DeclaredParameter("n", "INT"))
    text = "SELECT x FROM slidingWindow(s, n) WHERE ts > since"
    tree = typical(FunctionDefinition("f", "s", "radio", parameters, "radio", text))
    assert "CAST(NULL AS DATE)" in spark_sql(tree.args["where"])
    assert window_of(read(tree)) == RowsWindow(1, 1)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("SELECT x FROM timeWindow(s)", "BAD_QUERY"),
        ("SELECT x FROM slidingWindow(s)", "BAD_QUERY"),
        ("SELECT x FROM currentWindow(s, 3)", "BAD_QUERY"),
        ("SELECT x FROM currentWindow(3)", "BAD_QUERY"),
        ("SELECT x FROM timeWindow(s, 'long')", "BAD_OPTION"),
        ("SELECT x FROM timeWindow(s, INTERVAL 3 SECONDS)", "BAD_OPTION"),
        ("SELECT x FROM slidingWindow(s, 2.5)", "BAD_OPTION"),
        ("SELECT x FROM slidingWindow(s, 0)", "BAD_WINDOW"),
        ("SELECT count(*) AS n FROM timeWindow(s, 3) GROUP BY ALL", "BAD_QUERY"),
    ],
)
def test_windows_that_make_no_sense_are_refused(text: str, code: str) -> None:
    with pytest.raises(PenstockError) as refused:
        body(text)
    assert refused.value.code == code
