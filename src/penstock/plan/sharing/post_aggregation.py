"""Post-aggregations: what members make of their windows' partials, those of one shape together.

Two post-aggregations have one *shape* if they differ only in literals that are compared or shown.
Those become columns beside the partials, so that any number of members with one shape are one
SELECT.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from sqlglot import exp, parse_one

from penstock.model.own_names import INPUT, own
from penstock.model.schema import Schema, quoted
from penstock.plan.operators import Filter, Project
from penstock.plan.operators.bundles.join_member import JoinMember
from penstock.plan.operators.bundles.member import FlowMember, Member
from penstock.plan.operators.gate import ADDED
from penstock.plan.operators.windows.sample_scaling import SampleScaling
from penstock.plan.operators.windows.window_aggregate import END, START
from penstock.plan.sharing.layout import aggregate_name
from penstock.sql import spark_sql

MEMBER, STARTS, ENDS = own("m"), own("start"), own("end")
Constant = int | Decimal | str
COMPARED = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between)
INT, BIGINT = 2**31, 2**63
DIGITS = 38  # the longest decimal


@dataclass(frozen=True, slots=True)
class Step:
    """An operator of a post-aggregation: what it keeps (`columns` is None), or computes."""

    conditions: tuple[str, ...] = ()
    columns: tuple[tuple[str, str], ...] | None = None


@dataclass(frozen=True, slots=True)
class Shape:
    """`reads` are (name, SQL) of what the first step sees, `needs` the columns that these read.

    `types` are those of the constants. With `scaling`, what is read is what that makes of the
    columns that are needed.
    """

    reads: tuple[tuple[str, str], ...]
    needs: tuple[str, ...]
    steps: tuple[Step, ...]
    types: tuple[str, ...]
    schema: Schema
    scaling: SampleScaling | None = field(default=None, repr=False)  # bundles go by what repr shows

    @property
    def picks(self) -> dict[str, str] | None:
        """Return, by name, which of `reads` are merely shown, or None where more is done."""
        if self.types or len(self.steps) > 1 or any(step.conditions for step in self.steps):
            return None
        names = {quoted(name): name for name, _ in self.reads}
        columns = self.steps[0].columns if self.steps else None
        shown = columns if columns is not None else tuple((n, q) for q, n in names.items())
        if not all(sql in names for _, sql in shown):
            return None
        return {name: names[sql] for name, sql in shown}

    def sql(self, relation: str) -> str:
        """Return the SELECT from what is read, beside member and constants, to rows."""
        carried = [MEMBER, *(constant(place) for place in range(len(self.types)))]
        shown = [*carried, *(f"{sql} AS {quoted(name)}" for name, sql in self.reads)]
        sql = f"SELECT {', '.join(shown)} FROM {relation}"
        for step in self.steps:
            sql = _over(sql, step, carried)
        names = [MEMBER, *map(quoted, self.schema.names)]
        return f"SELECT {', '.join(names)} FROM ({sql})"


@dataclass(frozen=True, slots=True)
class PostAggregation:
    """A member's shape, and its own constants in it."""

    shape: Shape
    constants: tuple[Constant, ...]


def constant(place: int) -> str:
    """Return the column of a constant."""
    return own(f"c{place}")


def post_aggregation_of(member: Member) -> PostAggregation:
    """Return the shape of what the member makes of its windows, and its constants."""
    aggregate = member.aggregate
    bounds = ((START, f"timestamp_micros({STARTS})"), (END, f"timestamp_micros({ENDS})"))
    keys = tuple((name, quoted(name)) for name, _ in aggregate.keys)
    finishes = tuple((n, a.finish_sql(aggregate_name(a))) for n, a in aggregate.aggregates)
    partials = [
        f"{aggregate_name(each)}_{place}"
        for _, each in aggregate.aggregates
        for place in range(len(each.partials))
    ]
    needs = tuple(name for name, _ in aggregate.keys) + tuple(dict.fromkeys(partials))
    if member.scaling is None:
        return _post_aggregation((*bounds, *keys, *finishes), needs, member)
    names = (*member.scaling.keys, *(each.name for each in member.scaling.estimates), *ADDED)
    reads = (*bounds, *((name, quoted(name)) for name in names))
    return _post_aggregation(reads, needs, member, member.scaling.renamed(dict(finishes)))


def flow_post_aggregation_of(member: FlowMember) -> PostAggregation:
    """Return the shape of what the member makes of its tuples, and its constants."""
    reads = tuple((name, quoted(name)) for name in member.base.schema.names)
    return _post_aggregation(reads, member.base.schema.names, member)


def join_post_aggregation_of(member: JoinMember) -> PostAggregation:
    """Return the shape of what the member makes of the pairs of its join, and its constants."""
    names = member.join.schema.names
    return _post_aggregation(tuple((name, quoted(name)) for name in names), names, member)


def _post_aggregation(
    reads: tuple[tuple[str, str], ...],
    needs: tuple[str, ...],
    member: Member | FlowMember | JoinMember,
    scaling: SampleScaling | None = None,
) -> PostAggregation:
    found = _Constants()
    steps = tuple(found.taken_from(each) for each in member.post_aggregation)
    types = tuple(type_ for type_, _ in found.constants)
    shape = Shape(reads, needs, steps, types, member.root.schema, scaling)
    return PostAggregation(shape, tuple(value for _, value in found.constants))


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
        return f"SELECT * FROM ({sql}) AS {INPUT} WHERE {held}"
    columns = [*carried, *(f"{text} AS {quoted(name)}" for name, text in step.columns)]
    return f"SELECT {', '.join(columns)} FROM ({sql})"
