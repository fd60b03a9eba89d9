"""UNION, INTERSECT and EXCEPT of streams.

UNION ALL needs no memory. The others compare rows: those of one moment of an event time that all
SELECTs show in the same place, so that a row is forgotten when the watermark has passed it.
"""

from collections.abc import Callable, Iterator, Sequence

from sqlglot import exp

from penstock.errors import BadQueryError
from penstock.model.own_names import own
from penstock.model.schema import Schema, quoted
from penstock.plan.algebra.scope import place_of, plain
from penstock.plan.operators import EventTime, Operator, Union
from penstock.plan.relations.sources import Analyst
from penstock.sql import parse_select

ALL_ROWS = own("all_rows")  # the name under which a SELECT compares the rows of all inputs
SIDE = own("side")
HAVING: dict[type[exp.Expr], str] = {
    exp.Intersect: f" HAVING min({SIDE}) < max({SIDE})",
    exp.Except: f" HAVING max({SIDE}) = 0",
}

Shown = list[tuple[str, exp.Expr]]


def branches(tree: exp.SetOperation) -> Iterator[exp.Expr]:
    """Yield the SELECTs whose rows are laid together, as far as the tree treats them alike."""
    _refuse(tree)
    for each in (tree.this, tree.expression):
        alike = isinstance(tree, exp.Union) and isinstance(each, exp.Union)
        alike = alike and bool(tree.args.get("by_name")) == bool(each.args.get("by_name"))
        if alike and (tree.args.get("distinct") or not each.args.get("distinct")):
            yield from branches(each)
        else:
            yield each


def by_name(
    tree: exp.SetOperation,
    inputs: Sequence[Operator],
    project: Callable[[Operator, Shown], Operator],
) -> Sequence[Operator]:
    """Return the inputs with their columns in the order of the first one's, where it says so."""
    if not tree.args.get("by_name"):
        return inputs
    names = inputs[0].schema.names
    for each in inputs[1:]:
        ours, theirs = ({name.lower() for name in s} for s in (names, each.schema.names))
        if different := sorted(ours ^ theirs):
            raise BadQueryError(
                f"{tree.key.upper()} BY NAME, and not all SELECTs show {different[0]}",
                hint=f"show it everywhere: NULL AS {different[0]}",
                place=place_of(tree),
            )
    shown = [(name, plain(name)) for name in names]
    return [inputs[0], *(project(each, shown) for each in inputs[1:])]


def tagged(
    tree: exp.SetOperation,
    inputs: Sequence[Operator],
    project: Callable[[Operator, Shown], Operator],
) -> Sequence[Operator]:
    """Return the inputs, which carry their number where it matters."""
    if isinstance(tree, exp.Union):
        return inputs
    numbers = [(SIDE, exp.Literal.number(place)) for place in range(len(inputs))]
    return [
        project(each, [*((name, plain(name)) for name in each.schema.names), number])
        for each, number in zip(inputs, numbers, strict=True)
    ]


def union(inputs: Sequence[Operator], analyst: Analyst) -> Union:
    """Return the operator that lays rows together."""
    leaves = {own(f"input{place}"): each.schema for place, each in enumerate(inputs)}
    schema = analyst.schema(Union(tuple(inputs), Schema()).sql(list(leaves)), leaves)
    return Union(tuple(inputs), schema, _common_times(inputs, schema))


def over_moments(tree: exp.SetOperation, all_rows: Union) -> exp.Expr | None:
    """Return the SELECT that compares the rows of each moment, or None where none are compared."""
    if isinstance(tree, exp.Union) and not tree.args.get("distinct"):
        return None
    if not all_rows.times:
        raise BadQueryError(
            f"{tree.key.upper()} compares rows, and without an event time in common it would keep "
            "them all for ever",
            hint="show the event time (or window_start; of windows from a landmark window_end) in "
            "the same place of each SELECT, or write UNION ALL, with SELECT DISTINCT over a window "
            "above",
            place=place_of(tree),
        )
    names = ", ".join(quoted(name) for name in all_rows.schema.names if name != SIDE)
    having = HAVING.get(type(tree), "")
    return parse_select(f"SELECT {names} FROM {ALL_ROWS} GROUP BY {names}{having}")


def _refuse(tree: exp.SetOperation) -> None:
    name = tree.key.upper()
    if not isinstance(tree, exp.Union) and not tree.args.get("distinct"):
        raise BadQueryError(
            f"{name} ALL of streams does not run",
            hint="count the rows of each side in a window and join the counts, or leave ALL out",
            place=place_of(tree),
        )


def _common_times(inputs: Sequence[Operator], schema: Schema) -> tuple[EventTime, ...]:
    """Return the event time that all inputs have in the same place, if there is one."""
    for time in inputs[0].times:
        place = inputs[0].schema.names.index(time.column)
        if all(
            any(each.schema.names.index(t.column) == place for t in each.times) for each in inputs
        ):
            return (EventTime(schema.names[place]),)
    return ()
