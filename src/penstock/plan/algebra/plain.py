"""Plain aggregates: those that Arrow computes as Spark does.

A count, a sum of whole numbers or doubles, a least or greatest value. Their partials can be made
and combined without a job of their own.
"""

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp, parse_one

from penstock.plan.algebra.aggregates import Aggregate
from penstock.sql import spark_sql

COMBINED = re.compile(
    r"(?P<bare>(sum|min|max)\(\{\d\}\))|CAST\(sum\(\{\d\}\) AS (?P<type>bigint|double)\)"
)
FUNCTIONS: dict[type[exp.Expr], str] = {
    exp.Count: "count",
    exp.CountIf: "count",
    exp.Sum: "sum",
    exp.Min: "min",
    exp.Max: "max",
}


@dataclass(frozen=True, slots=True)
class Plain:
    """A partial: what is computed of a value (SQL over tuples), and how partials combine.

    Without a value, tuples are counted.
    """

    function: str
    value: str | None
    combine: str


@functools.lru_cache(maxsize=65536)
def plain_partials(aggregate: Aggregate) -> tuple[Plain, ...] | None:
    """Return the partials of a plain aggregate, None of any other."""
    if aggregate.is_holistic:
        return None
    found = [
        _plain(sql, combine)
        for sql, combine in zip(aggregate.partials, aggregate.combines, strict=True)
    ]
    plain = [each for each in found if each is not None]
    return tuple(plain) if len(plain) == len(found) else None


def combinations(aggregates: Sequence[tuple[str, Aggregate]]) -> dict[str, str] | None:
    """Return how each partial column combines, None where one is not plain."""
    found: dict[str, str] = {}
    for name, aggregate in aggregates:
        plain = plain_partials(aggregate)
        if plain is None:
            return None
        found |= {f"{name}_{place}": each.combine for place, each in enumerate(plain)}
    return found


def _plain(sql: str, combine: str) -> Plain | None:
    how = COMBINED.fullmatch(combine)
    tree = parse_one(sql, read="spark")
    where = None
    if isinstance(tree, exp.Filter):
        where, tree = tree.expression.this, tree.this
    function = FUNCTIONS.get(type(tree))
    if how is None or function is None or tree.expressions or tree.find(exp.Distinct, exp.Struct):
        return None
    combined = "sum" if how["type"] else how["bare"][:3]
    if function == "sum":
        if how["type"] is None:
            return None
        value: exp.Expr = exp.cast(tree.this, how["type"])
    elif isinstance(tree, exp.CountIf):
        value = _where(tree.this, exp.true())
    elif isinstance(tree.this, exp.Star):
        if where is None:
            return Plain("count", None, combined)
        value = exp.true()
    else:
        value = tree.this
    if where is not None:
        value = _where(where, value)
    return Plain(function, spark_sql(value), combined)


def _where(condition: exp.Expr, value: exp.Expr) -> exp.Expr:
    return exp.Case().when(condition.copy(), value.copy())
