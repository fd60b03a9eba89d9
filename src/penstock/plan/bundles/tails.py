"""Tails: what members make of their windows' partials, those of one shape together.

Two tails have one *shape* if they differ only in literals that are compared or shown. Those become
columns beside the partials, so that any number of members with one shape are one SELECT.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from sqlglot import exp, parse_one

from penstock.model.schema import Schema, quoted
from penstock.plan.bundles.layout import aggregate_name
from penstock.plan.bundles.member import Member
from penstock.plan.operators import Filter, Project
from penstock.plan.operators.window_aggregate import END, START
from penstock.sql import spark_sql

MEMBER, STARTS, ENDS = "__m", "__start", "__end"
Constant = int | Decimal | str
COMPARED = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between)
INT, BIGINT = 2**31, 2**63
DIGITS = 38  # the longest decimal


@dataclass(frozen=True, slots=True)
class Step:
    """One operator of a tail: what it keeps (with `columns` None), or what it computes."""

    conditions: tuple[str, ...] = ()
    columns: tuple[tuple[str, str], ...] | None = None


@dataclass(frozen=True, slots=True)
class Shape:
    """`finishes` are (name, SQL over partials); `types` those of the constants."""

    keys: tuple[str, ...]
    finishes: tuple[tuple[str, str], ...]
    steps: tuple[Step, ...]
    types: tuple[str, ...]
    schema: Schema

    def sql(self, relation: str) -> str:
        """Return the SELECT from partials, beside member, bounds and constants, to rows."""
        carried = [MEMBER, *(constant(place) for place in range(len(self.types)))]
        bounds = [f"timestamp_micros({STARTS}) AS {START}", f"timestamp_micros({ENDS}) AS {END}"]
        finished = [f"{sql} AS {name}" for name, sql in self.finishes]
        shown = [*carried, *bounds, *map(quoted, self.keys), *finished]
        sql = f"SELECT {', '.join(shown)} FROM {relation}"
        for step in self.steps:
            sql = _over(sql, step, carried)
        names = [MEMBER, *map(quoted, self.schema.names)]
        return f"SELECT {', '.join(names)} FROM ({sql})"


@dataclass(frozen=True, slots=True)
class Tail:
    """A member's shape, and its own constants in it."""

    shape: Shape
    constants: tuple[Constant, ...]


def constant(place: int) -> str:
    """Return the column of a constant."""
    return f"__c{place}"


def tail_of(member: Member) -> Tail:
    """Return the shape of what the member makes of its windows, and its constants."""
    aggregate, found = member.aggregate, _Constants()
    finishes = tuple((n, a.finish_sql(aggregate_name(a))) for n, a in aggregate.aggregates)
    steps = tuple(found.taken_from(each) for each in member.tail)
    keys = tuple(name for name, _ in aggregate.keys)
    types = tuple(type_ for type_, _ in found.constants)
    shape = Shape(keys, finishes, steps, types, member.root.schema)
    return Tail(shape, tuple(value for _, value in found.constants))


class _Constants:
    """Collects literals, and puts columns in their places."""

    def __init__(self) -> None:
        self.constants: list[tuple[str, Constant]] = []

    def taken_from(self, operator: Filter | Project) -> Step:
        if isinstance(operator, Filter):
            return Step(conditions=tuple(map(self._without, operator.conditions)))
        return Step(columns=tuple((name, self._without(sql)) for name, sql in operator.columns))

    def _without(self, text: str) -> str:
        tree = _parsed(text)
        if not any(_is_taken(node) for node in tree.walk()):
            return text
        return spark_sql(tree.copy().transform(self._placed))

    def _placed(self, node: exp.Expr) -> exp.Expr:
        read = _constant(node) if _is_taken(node) else None
        if read is None:
            return node
        self.constants.append(read)
        return exp.column(constant(len(self.constants) - 1))


@functools.lru_cache(maxsize=65536)
def _parsed(text: str) -> exp.Expr:
    return parse_one(text, read="spark")


def _is_taken(node: exp.Expr) -> bool:
    """Say whether the node is a literal that is compared, or all that a column shows."""
    literal = isinstance(node, exp.Literal)
    above = node.parent
    if isinstance(node, exp.Neg):
        literal = isinstance(node.this, exp.Literal) and not node.this.is_string
    if isinstance(above, exp.Neg):
        return False  # taken with its sign
    shown = above is None and literal and isinstance(node, exp.Literal) and node.is_string
    return shown or (literal and isinstance(above, COMPARED))


def _constant(node: exp.Expr) -> tuple[str, Constant] | None:
    """Return a literal's type, which is Spark's for it, and its value."""
    sign, literal = (-1, node.this) if isinstance(node, exp.Neg) else (1, node)
    text = str(literal.this)
    if literal.is_string:
        return "string", text
    if text.isdecimal():
        value = sign * int(text)
        if abs(value) >= BIGINT:
            return None
        return ("int" if -INT <= value < INT else "bigint"), value
    whole, dot, fraction = text.partition(".")
    if not dot or not (whole + fraction).isdecimal():
        return None
    digits = max(len((whole + fraction).lstrip("0")), len(fraction))
    if digits > DIGITS:
        return None
    return f"decimal({digits},{len(fraction)})", sign * Decimal(text)


def _over(sql: str, step: Step, carried: Sequence[str]) -> str:
    if step.columns is None:
        held = " AND ".join(f"({each})" for each in step.conditions)
        return f"SELECT * FROM ({sql}) AS i WHERE {held}"
    columns = [*carried, *(f"{text} AS {quoted(name)}" for name, text in step.columns)]
    return f"SELECT {', '.join(columns)} FROM ({sql})"
