"""Aggregates as folds: what a condition over a growing window looks at, tuple by tuple.

A fold is some fields, how each is after one tuple more, and its value. In its templates {x0} is an
argument's value of the tuple, {f0} a field, {count} how many tuples were there before.
"""

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from penstock.errors import BadWindowError
from penstock.plan.algebra.aggregates import is_aggregate
from penstock.sql import spark_sql

ALLOWED = "count, count_if, sum, avg, min, max, first and last"


@dataclass(frozen=True, slots=True)
class FoldField:
    """A field: its type, what it is before the first tuple, and after one more."""

    type: str
    zero: str
    step: str


@dataclass(frozen=True, slots=True)
class Fold:
    """One aggregate of a condition."""

    text: str
    arguments: tuple[str, ...]
    fields: tuple[FoldField, ...]
    value: str = "{f0}"


TypeOf = Callable[[str], str]


def fold_of(call: exp.Expr, type_of: TypeOf) -> Fold:
    """Return an aggregate call as a fold."""
    inner = call.this if isinstance(call, exp.IgnoreNulls | exp.RespectNulls) else call
    where = None
    if isinstance(inner, exp.Filter):
        where, inner = spark_sql(inner.expression.this), inner.this
    name = inner.name.lower() if isinstance(inner, exp.AnonymousAggFunc) else inner.key.lower()
    maker = _MAKERS.get(name)
    if maker is None or inner.find(exp.Distinct):
        raise _refused(call)
    if any(is_aggregate(each) for each in inner.walk() if each is not inner):
        raise BadWindowError(f"{spark_sql(call)}: an aggregate cannot stand inside an aggregate")
    if isinstance(call, exp.IgnoreNulls) or where is not None:
        return _narrowed(call, name, inner, where, type_of)
    return maker(spark_sql(call), _arguments(inner), type_of)


def _narrowed(
    call: exp.Expr, name: str, inner: exp.Expr, where: str | None, type_of: TypeOf
) -> Fold:
    """Return a fold that passes over some of the tuples."""
    arguments = _arguments(inner)
    if where is not None:
        if name in ("first", "last", "first_value", "last_value", "any_value"):
            raise _refused(call)
        star = name == "count" and arguments == ["*"]
        held = ["1"] if star else arguments
        arguments = [f"CASE WHEN {where} THEN {each} END" for each in held]
    if isinstance(call, exp.IgnoreNulls):
        kind, (x,) = type_of(arguments[0]), arguments[:1]
        kept = "{f0}, {x0}" if name.startswith(("first", "any")) else "{x0}, {f0}"
        return Fold(spark_sql(call), (x,), (FoldField(kind, "NULL", f"coalesce({kept})"),))
    return _MAKERS[name](spark_sql(call), arguments, type_of)


def _refused(call: exp.Expr) -> BadWindowError:
    return BadWindowError(
        f"WHEN cannot use {spark_sql(call)}", hint=f"it may use {ALLOWED} of the window's tuples"
    )


def _arguments(call: exp.Expr) -> list[str]:
    given = call.expressions if isinstance(call, exp.AnonymousAggFunc) else [call.this]
    given = [*given, *call.expressions] if isinstance(call, exp.Count) else given
    return [spark_sql(each) for each in given if each is not None]


def _count(text: str, arguments: list[str], _: TypeOf) -> Fold:
    if arguments == ["*"]:
        return Fold(text, (), (FoldField("bigint", "0L", "{f0} + 1L"),))
    known = " AND ".join(f"{{x{place}}} IS NOT NULL" for place in range(len(arguments)))
    step = f"{{f0}} + CASE WHEN {known} THEN 1L ELSE 0L END"
    return Fold(text, tuple(arguments), (FoldField("bigint", "0L", step),))


def _count_if(text: str, arguments: list[str], _: TypeOf) -> Fold:
    step = "{f0} + CASE WHEN {x0} THEN 1L ELSE 0L END"
    return Fold(text, tuple(arguments[:1]), (FoldField("bigint", "0L", step),))


def _sum(text: str, arguments: list[str], type_of: TypeOf) -> Fold:
    return Fold(text, (arguments[0],), (_summed(type_of(f"sum({arguments[0]})")),))


def _avg(text: str, arguments: list[str], type_of: TypeOf) -> Fold:
    x = arguments[0]
    result = type_of(f"avg({x})")
    kind = "double" if result == "double" else type_of(f"sum({x})")
    count = FoldField("bigint", "0L", "{f1} + CASE WHEN {x0} IS NULL THEN 0L ELSE 1L END")
    return Fold(
        text, (x,), (_summed(kind), count), f"CAST({{f0}} / nullif({{f1}}, 0L) AS {result})"
    )


def _summed(kind: str) -> FoldField:
    first, more = f"CAST({{x0}} AS {kind})", f"CAST({{f0}} + {{x0}} AS {kind})"
    return FoldField(
        kind,
        "NULL",
        f"CASE WHEN {{x0}} IS NULL THEN {{f0}} WHEN {{f0}} IS NULL THEN {first} ELSE {more} END",
    )


def _same(step: str) -> "Maker":
    def make(text: str, arguments: list[str], type_of: TypeOf) -> Fold:
        field = FoldField(type_of(arguments[0]), "NULL", step)
        return Fold(text, (arguments[0],), (field,))

    return make


Maker = Callable[[str, list[str], TypeOf], Fold]
_FIRST = _same("CASE WHEN {count} = 0L THEN {x0} ELSE {f0} END")
_LAST = _same("{x0}")
_MAKERS: dict[str, Maker] = {
    "count": _count,
    "count_if": _count_if,
    "countif": _count_if,
    "sum": _sum,
    "avg": _avg,
    "min": _same("least({f0}, {x0})"),
    "max": _same("greatest({f0}, {x0})"),
    "first": _FIRST,
    "first_value": _FIRST,
    "any_value": _FIRST,
    "last": _LAST,
    "last_value": _LAST,
}
