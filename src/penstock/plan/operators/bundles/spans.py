"""Spans: a condition as the values of one column that it lets through.

    x > 5                one span, from just after 5 on
    x BETWEEN 1 AND 3    one span, from just before 1 to just after 3
    x <> 2               two spans

The bounds are *cuts*: places just before or just after a value. Only columns and literals count
whose comparison needs no rounding, and which Python orders as Spark does.
"""

import functools
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from sqlglot import exp, parse_one

from penstock.model.schema import Schema

Value = int | float | str
Cut = tuple[Value, int]  # 0: just before the value, 1: just after it
Span = tuple[Cut | None, Cut | None]

EVERYTHING: tuple[Span, ...] = ((None, None),)
BEFORE, AFTER = 0, 1
WHOLE = ("tinyint", "smallint", "int", "bigint")
LARGEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Condition:
    """What a condition asks of one column; `type` is that of the comparison."""

    column: str
    type: str
    spans: tuple[Span, ...]


def condition_of(text: str, schema: Schema) -> Condition | None:
    """Return the spans that a condition in Spark SQL asks for, or None where it asks otherwise."""
    tree = _parsed(text)
    while isinstance(tree, exp.Paren):
        tree = tree.this
    found = _read(tree)
    if found is None:
        return None
    column, literals, make = found
    known = schema.find(column)
    kind = _kind(known.type.lower()) if known is not None else None
    if known is None or kind is None:
        return None
    values = [_value(each, kind) for each in literals]
    if any(value is None for value in values):
        return None
    return Condition(known.name, kind, tuple(make([v for v in values if v is not None])))


def both(one: Iterable[Span], other: Iterable[Span]) -> tuple[Span, ...]:
    """Return the spans that lie in both."""
    other = tuple(other)
    met = ((_later(a[0], b[0]), _earlier(a[1], b[1])) for a in one for b in other)
    return tuple(sorted((each for each in met if not _is_empty(each)), key=_place))


@functools.lru_cache(maxsize=65536)
def _parsed(text: str) -> exp.Expr:
    return parse_one(text, read="spark")


Read = tuple[str, list[exp.Expr], Callable[[list[Value]], list[Span]]]

_COMPARED: dict[type[exp.Expr], Callable[[list[Value]], list[Span]]] = {
    exp.GT: lambda v: [((v[0], AFTER), None)],
    exp.GTE: lambda v: [((v[0], BEFORE), None)],
    exp.LT: lambda v: [(None, (v[0], BEFORE))],
    exp.LTE: lambda v: [(None, (v[0], AFTER))],
    exp.EQ: lambda v: [((v[0], BEFORE), (v[0], AFTER))],
    exp.NEQ: lambda v: [(None, (v[0], BEFORE)), ((v[0], AFTER), None)],
}
_TURNED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.GT: exp.LT,
    exp.GTE: exp.LTE,
    exp.LT: exp.GT,
    exp.LTE: exp.GTE,
    exp.EQ: exp.EQ,
    exp.NEQ: exp.NEQ,
}


def _read(tree: exp.Expr) -> Read | None:
    """Return the column, the literals, and what makes spans of their values."""
    if isinstance(tree, exp.Between):
        column, low, high = tree.this, tree.args["low"], tree.args["high"]
        return (_name(column), [low, high], _between) if _name(column) else None
    if isinstance(tree, exp.In):
        plain = tree.expressions and not tree.args.get("query") and not tree.args.get("unnest")
        return (_name(tree.this), list(tree.expressions), _among) if plain else None
    if type(tree) not in _COMPARED:
        return None
    left, right, kind = tree.this, tree.expression, type(tree)
    if not _name(left):
        left, right, kind = right, left, _TURNED[kind]
    return (_name(left), [right], _COMPARED[kind]) if _name(left) else None


def _between(values: list[Value]) -> list[Span]:
    span = ((values[0], BEFORE), (values[1], AFTER))
    return [] if _is_empty(span) else [span]


def _among(values: list[Value]) -> list[Span]:
    return [((value, BEFORE), (value, AFTER)) for value in sorted(set(values))]


def _name(node: exp.Expr) -> str:
    if not isinstance(node, exp.Column) or not isinstance(node.this, exp.Identifier):
        return ""
    return node.name if len(node.parts) == 1 else ""


def _kind(type_: str) -> str | None:
    if type_ in WHOLE:
        return "bigint"
    return type_ if type_ in ("double", "string") else None


def _value(node: exp.Expr, kind: str) -> Value | None:
    sign = 1
    while isinstance(node, exp.Neg | exp.Paren):
        sign, node = (-sign if isinstance(node, exp.Neg) else sign), node.this
    if not isinstance(node, exp.Literal) or node.is_string != (kind == "string"):
        return None
    if kind == "string":
        return None if sign < 0 else str(node.this)
    if kind == "bigint":
        whole = str(node.this).isdecimal() and int(node.this) <= LARGEST
        return sign * int(node.this) if whole else None
    number = sign * float(node.this)
    return number if math.isfinite(number) else None


def _later(one: Cut | None, other: Cut | None) -> Cut | None:
    return max((each for each in (one, other) if each is not None), default=None)


def _earlier(one: Cut | None, other: Cut | None) -> Cut | None:
    return min((each for each in (one, other) if each is not None), default=None)


def _is_empty(span: Span) -> bool:
    low, high = span
    return low is not None and high is not None and low >= high


def _place(span: Span) -> tuple[bool, Cut | tuple[()]]:
    return span[0] is not None, span[0] or ()
