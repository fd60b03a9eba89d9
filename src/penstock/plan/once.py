"""A one-time SELECT: the relations that it names, and the same SELECT over views."""

from collections.abc import Callable

from sqlglot import exp

from penstock.errors import BadQueryError, Place
from penstock.plan.scope import place_of
from penstock.sql import WrittenFlow, context_of, flow_of, spark_sql, window_of


def over_views(tree: exp.Expr, view_of: Callable[[str], str]) -> str:
    """Return Spark SQL in which every relation is the view that `view_of` gives for its name."""
    tree = tree.copy()
    named = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    for table in list(tree.find_all(exp.Table)):
        if not isinstance(table.this, exp.Identifier):
            continue
        if window_of(table) is not None or context_of(table) is not None:
            raise BadQueryError(
                "a one-time SELECT reads what is there now: it has no window",
                hint="use WHERE on the time column, or CREATE QUERY",
            )
        name = ".".join(part.name for part in table.parts)
        if name.lower() in named:
            continue
        if not table.alias:
            table.set("alias", exp.TableAlias(this=table.this.copy()))
        table.set("this", exp.to_identifier(view_of(name)))  # samples, pivots and aliases stay
        table.set("db", None)
        table.set("catalog", None)
    return spark_sql(tree)


def place_of_column(tree: exp.Expr, message: str) -> Place | None:
    """Return where the first column stands that a message of Spark names."""
    meant = (each for each in tree.find_all(exp.Column) if f"`{each.name}`" in message)
    return next((place_of(column) for column in meant), None)


def names_in(tree: exp.Expr) -> set[str]:
    """Return the names of the relations that a SELECT reads, in lower case."""
    named = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    found = {
        ".".join(part.name for part in table.parts).lower()
        for table in tree.find_all(exp.Table)
        if isinstance(table.this, exp.Identifier)
    }
    streams = map(_argument, functions_in(tree))
    found |= {each.name.lower() for each in streams if isinstance(each, exp.Column)}
    return found - named


def functions_in(tree: exp.Expr) -> list[exp.Anonymous]:
    """Return the functions that stand in FROM, each over a stream."""
    tables = (table.this for table in tree.find_all(exp.Table))
    calls = [each for each in tables if isinstance(each, exp.Anonymous)]
    inner = [i for each in calls for i in each.find_all(exp.Anonymous) if i is not each]
    return [*calls, *inner]


def flows_in(tree: exp.Expr) -> list[WrittenFlow]:
    """Return the flows through which a SELECT reads."""
    found = (flow_of(table) for table in tree.find_all(exp.Table))
    return [flow for flow in found if flow is not None]


def _argument(call: exp.Expr) -> exp.Expr:
    """Return the stream that functions, one inside the other, are called over."""
    while isinstance(call, exp.Anonymous) and call.expressions:
        call = call.expressions[0]
    return call
