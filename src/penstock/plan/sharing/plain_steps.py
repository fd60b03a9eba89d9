"""Plain steps: filters and projections so simple that Arrow answers them exactly as Spark does.

Conditions are spans of columns (`operators/bundles/spans.py`). Columns are passed on, or are
doubles to which a whole number is added, from which it is taken, or with which it is multiplied:
none of that can fail or round in another way. For anything else the answer is None, and Spark is
asked (docs/decisions/0041).
"""

import functools
from dataclasses import dataclass

from sqlglot import exp, parse_one

from penstock.model.schema import Schema
from penstock.plan.operators import Filter, Operator, Project
from penstock.plan.operators.bundles.member import ColumnSpans
from penstock.plan.operators.bundles.spans import both, condition_of
from penstock.plan.sharing.units import Unit

PASSED = ("tinyint", "smallint", "int", "bigint", "double", "string", "boolean", "timestamp")
EXACT = 2**31  # whole numbers below are INT to Spark, and doubles without rounding
ARITHMETIC: dict[type[exp.Expr], str] = {exp.Add: "add", exp.Sub: "subtract", exp.Mul: "multiply"}


@dataclass(frozen=True, slots=True)
class PickRows:
    """Keep the rows that every one of these columns lets through."""

    asked: tuple[ColumnSpans, ...]


@dataclass(frozen=True, slots=True)
class PlainColumn:
    """A column under its new name; with `arithmetic`, a double of which `number` makes another."""

    name: str
    column: str
    arithmetic: str = ""
    number: float = 0.0


@dataclass(frozen=True, slots=True)
class PickColumns:
    """Keep these columns, in this order."""

    columns: tuple[PlainColumn, ...]


PlainStep = PickRows | PickColumns


@functools.lru_cache(maxsize=4096)
def plain_steps(unit: Unit) -> tuple[PlainStep, ...] | None:
    """Return the steps from the unit's only leaf to its rows, or None where Spark has to answer."""
    if unit.stateful is not None or len(unit.leaves) != 1:
        return None
    steps = [_step(member) for member in unit.members()]
    known = tuple(step for step in steps if step is not None)
    return known if known and len(known) == len(steps) else None


def _step(operator: Operator) -> PlainStep | None:
    match operator:
        case Filter():
            return _pick_rows(operator)
        case Project():
            return _pick_columns(operator)
        case _:
            return None


def _pick_rows(operator: Filter) -> PickRows | None:
    found: dict[str, ColumnSpans] = {}
    for text in operator.conditions:
        condition = condition_of(text, operator.input.schema)
        if condition is None:
            return None
        column, spans = condition.column, condition.spans
        spans = both(found[column][2], spans) if column in found else spans
        found[column] = (column, condition.type, spans)
    return PickRows(tuple(found.values()))


def _pick_columns(operator: Project) -> PickColumns | None:
    schema = operator.input.schema
    columns = [
        _column(name, parse_one(sql, read="spark"), schema) for name, sql in operator.columns
    ]
    known = tuple(each for each in columns if each is not None)
    # Arrow would not know which of two columns of one name is meant.
    is_told_apart = len({each.name.lower() for each in known}) == len(columns)
    return PickColumns(known) if is_told_apart else None


def _column(name: str, tree: exp.Expr, schema: Schema) -> PlainColumn | None:
    tree = tree.unnest()
    if isinstance(tree, exp.Column):
        found = _found(tree, schema, PASSED)
        return PlainColumn(name, found) if found else None
    column, number = tree.args.get("this"), _whole(tree.args.get("expression"))
    arithmetic = ARITHMETIC.get(type(tree))
    if arithmetic is None or number is None or not isinstance(column, exp.Column):
        return None
    found = _found(column, schema, ("double",))
    return PlainColumn(name, found, arithmetic, float(number)) if found else None


def _whole(node: object) -> int | None:
    """Return a literal that is a whole number and the same double to both, else None."""
    if not isinstance(node, exp.Literal) or node.is_string or not node.this.isdecimal():
        return None
    number = int(node.this)
    return number if number < EXACT else None


def _found(node: exp.Column, schema: Schema, types: tuple[str, ...]) -> str:
    """Return the name of the column of the input, or none where it is no plain one."""
    found = schema.find(node.name) if len(node.parts) == 1 else None
    return found.name if found is not None and found.type.lower() in types else ""
