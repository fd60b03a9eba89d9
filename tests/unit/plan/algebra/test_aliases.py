import pytest
from sqlglot import exp

from penstock.errors import PenstockError
from penstock.plan.algebra.aliases import Aliases, laterally, spelled
from penstock.sql import parse_select, spark_sql

COLUMNS = {"a", "b"}


def knows(column: exp.Column) -> bool:
    return column.name.lower() in COLUMNS and column.table in ("", "t")


def aliases(select: str, *keys: str) -> tuple[Aliases, exp.Select]:
    tree = parse_select(select)
    assert isinstance(tree, exp.Select)
    shown = [(each.alias_or_name, each.unalias()) for each in tree.expressions]
    return Aliases(laterally(shown, knows), knows, lambda column: column.name in keys), tree


def orders(select: str) -> list[str]:
    found, tree = aliases(select)
    return [spark_sql(node) + how for node, how in found.compared(tree).orders]


def test_order_by_looks_among_the_columns_of_select_first() -> None:
    assert orders("SELECT -a AS a FROM t ORDER BY a, t.a, a + 1 DESC") == [
        "(-a) ASC NULLS FIRST",
        "t.a ASC NULLS FIRST",
        "(-a) + 1 DESC NULLS LAST",
    ]
    assert orders("SELECT a AS x, b FROM t ORDER BY ALL DESC") == [
        "a DESC NULLS LAST",
        "b DESC NULLS LAST",
    ]
    assert orders("SELECT a, b FROM t ORDER BY 2 NULLS LAST") == ["b ASC NULLS LAST"]


def test_a_column_called_all_goes_before_the_word() -> None:
    wanted = ["(-a) DESC NULLS LAST", "b ASC NULLS FIRST"]
    for name in ("`all`", "all", "ALL"):
        assert orders(f"SELECT b, -a AS `all` FROM t ORDER BY {name} DESC, b") == wanted
    assert orders("SELECT a, b FROM t ORDER BY t.`all`") == ["t.`all` ASC NULLS FIRST"]
    found, _ = aliases("SELECT b, -a AS `all` FROM t")
    ranked = parse_select("SELECT rank() OVER (ORDER BY `all` DESC) < 3").expressions[0]
    assert "ORDER BY (-a) DESC" in spark_sql(found.condition(ranked))


def test_an_aggregate_in_order_by_is_not_of_an_aggregate() -> None:
    assert orders("SELECT sum(a) AS a, b + 1 AS b FROM t ORDER BY max(a), max(b)") == [
        "MAX(a) ASC NULLS FIRST",
        "MAX((b + 1)) ASC NULLS FIRST",
    ]


def test_having_looks_among_the_keys_first_and_then_among_the_columns_of_select() -> None:
    found, _ = aliases("SELECT a + 1 AS a, sum(b) AS b FROM t", "a")
    condition = parse_select("SELECT a > 1 AND b > 2 AND sum(b) > 3").expressions[0]
    assert spark_sql(found.condition(condition)) == "a > 1 AND (SUM(b)) > 2 AND SUM(b) > 3"


def test_a_name_stands_for_an_earlier_column_unless_from_has_it() -> None:
    tree = parse_select("SELECT sum(a) AS s, s + a AS u, u.x AS v FROM t")
    shown = [(each.alias_or_name, each.unalias()) for each in tree.expressions]
    assert [spark_sql(node) for _, node in laterally(shown, knows)] == [
        "SUM(a)",
        "(SUM(a)) + a",
        "((SUM(a)) + a).x",
    ]


def test_a_variable_of_a_lambda_is_no_alias() -> None:
    tree = parse_select("SELECT transform(xs, s -> s + u) FROM t").expressions[0]
    meant = {"s": exp.Literal.number(1), "u": exp.Literal.number(2)}
    assert spark_sql(spelled(tree, meant, knows)) == "transform(xs, s -> s + (2))"


def test_names_that_grow_without_bound_are_refused() -> None:
    doubled = ", ".join(f"s{n} + s{n} AS s{n + 1}" for n in range(40))
    with pytest.raises(PenstockError) as refused:
        aliases(f"SELECT sum(a) AS s0, {doubled} FROM t")
    assert refused.value.code == "BAD_QUERY"


def test_a_number_beyond_the_columns_is_refused() -> None:
    with pytest.raises(PenstockError) as refused:
        orders("SELECT a FROM t ORDER BY 2")
    assert refused.value.code == "BAD_QUERY"
