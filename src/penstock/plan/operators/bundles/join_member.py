"""Joins in a bundle: of the same inputs by the same keys, each with its own filters and windows.

root             Filter and Project over the pairs: the *post-aggregation* of a join
join             inner, of spans of time; what ON asks beyond equal keys is its `rest`
conditions     Filter, on either side
bases          what the members of a bundle have in common
"""

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from penstock.model.own_names import INPUT, LEFT, RIGHT
from penstock.plan.algebra.clauses import conjuncts
from penstock.plan.operators.bundles.member import Asking, above_of, in_text_order
from penstock.plan.operators.gate import Gate
from penstock.plan.operators.identity import walk
from penstock.plan.operators.joins.window_join import WindowJoin
from penstock.plan.operators.operator import Operator
from penstock.plan.operators.tuples.filter import Filter
from penstock.plan.operators.tuples.project import Project
from penstock.sql import parse_select, spark_sql

QUALIFIED = 2  # the parts of a column's name that says whose it is


@dataclass(frozen=True, slots=True, order=True)
class JoinKey:
    """Columns of both bases that are equal, also where both are NULL if `null_safe`."""

    left: str
    right: str
    null_safe: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class JoinMember(Asking):
    """`conditions` are those on the left side's tuples, `right` asks for the right side's.

    `rest` are conditions on pairs, over the columns of the join.
    """

    join: WindowJoin
    right: Asking
    keys: tuple[JoinKey, ...]
    rest: tuple[str, ...]

    @property
    def bases(self) -> tuple[Operator, Operator]:
        """Return what both sides read."""
        return (self.base, self.right.base)

    @property
    def sides(self) -> tuple[Asking, Asking]:
        """Return what is asked of the tuples of each side."""
        return (self, self.right)

    @property
    def post_aggregation(self) -> list[Filter | Project]:
        """Return what is done to the pairs of equal keys, the lowest first."""
        rest = [Filter(self.join, self.rest)] if self.rest else []
        return [*rest, *above_of(self.root)]


def join_member_of(root: Operator) -> JoinMember | None:
    """Return the root as a member, or None where it cannot be one."""
    join = root
    while isinstance(join, Filter | Project):
        join = join.input
    if not (isinstance(join, WindowJoin) and _is_shareable(join)):
        return None
    read = _read_on(join)
    if read is None or not read[0]:
        return None
    (left, mine), (right, theirs) = map(_unfiltered, join.inputs)
    return JoinMember(root, left, mine, join, Asking(root, right, theirs), *read)


def _is_shareable(join: WindowJoin) -> bool:
    """Say whether a join gives pairs of tuples that no gate has thinned, and nothing else."""
    chained = join.carry or any(side.carries for side in join.sides)
    return join.kind == "INNER" and not chained and not any(isinstance(e, Gate) for e in walk(join))


def _unfiltered(node: Operator) -> tuple[Operator, tuple[str, ...]]:
    filters = list[Filter]()
    while isinstance(node, Filter):
        filters.insert(0, node)
        node = node.input
    return node, in_text_order(filters)


def _read_on(join: WindowJoin) -> tuple[tuple[JoinKey, ...], tuple[str, ...]] | None:
    """Return the equal keys of ON, and the rest of it; None where it cannot be told apart."""
    keys, rest = set[JoinKey](), list[str]()
    for each in conjuncts(parse_select(f"SELECT {join.on or 'true'}").expressions[0]):
        if (key := _key(join, each)) is not None:
            keys.add(key)
        elif any(len(c.parts) > QUALIFIED for c in _columns(each)):
            return None
        else:
            rest.append(spark_sql(each.copy().transform(_of_pair)))
    return tuple(sorted(keys)), tuple(rest)


def _key(join: WindowJoin, node: exp.Expr) -> JoinKey | None:
    if not isinstance(node, exp.EQ | exp.NullSafeEQ):
        return None
    named = {each.table: each for each in (node.left, node.right) if type(each) is exp.Column}
    if named.keys() != {LEFT, RIGHT} or any(len(e.parts) > QUALIFIED for e in named.values()):
        return None
    names = [
        next((name for name, out in side.columns if out == named[place].name), None)
        for place, side in zip((LEFT, RIGHT), join.sides, strict=True)
    ]
    types = [
        found.type
        for name, each in zip(names, join.inputs, strict=True)
        if name is not None and (found := each.schema.find(name)) is not None
    ]
    match names, types:
        case [str(left), str(right)], [one, other] if one == other:
            return JoinKey(left, right, isinstance(node, exp.NullSafeEQ))
    return None


def _columns(node: exp.Expr) -> Iterator[exp.Column]:
    return (each for each in node.find_all(exp.Column) if each.parts[0].name in (LEFT, RIGHT))


def _of_pair(node: exp.Expr) -> exp.Expr:
    """Return a column of either side as one of the pair; lambdas may have variables of its name."""
    if isinstance(node, exp.Column) and node.table in (LEFT, RIGHT):
        return exp.column(exp.to_identifier(node.name, quoted=True), table=INPUT)
    return node
