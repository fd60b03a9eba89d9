"""Which operators decide that a tuple comes too late for a query."""

from collections.abc import Container, Iterator

from penstock.model.schema import Column, Schema
from penstock.plan.operators import (
    Detect,
    Flow,
    FlowBundle,
    HopJoin,
    ObliviousJoin,
    Operator,
    Ordered,
    RowsJoin,
    TimeSlices,
    WindowJoin,
    is_stateful,
    key,
    walk,
)

# Late occurrences of an event's constituents, whatever columns they have: their end, and JSON.
MISSED = Schema((Column("_end", "timestamp"), Column("occurrence", "string")))

# Items that a flow could not carry on, whatever columns they have: why, where, and JSON.
HELD = Schema(
    (
        Column("kind", "string"),
        Column("site", "int"),
        Column("function", "string"),
        Column("cause", "string"),
        Column("item", "string"),
    )
)


def flows_in(root: Operator) -> tuple[Flow, ...]:
    """Return the flows of a query itself, whose held items are the query's."""
    return tuple(node for node in walk(root) if isinstance(node, Flow))


def judges(root: Operator, foreign: Container[str] = ()) -> tuple[Operator, ...]:
    """Return the operators whose late tuples are the query's, however deep, inputs first.

    What is in order is not late, so whoever reads an order judges nothing. The nodes (keys) that
    are `foreign` belong to the queries that are read, and so do their late tuples.
    """
    own = (node for node in walk(root) if key(node) not in foreign)
    return tuple(node for node in own if is_stateful(node) and _judges(node))


def takes_tuples(judge: Operator, foreign: Container[str] = ()) -> bool:
    """Say whether an operator reads anything but what others of its query have put in order."""
    return any(_is_new(each, foreign) for each in judge.inputs)


def late_schema(judge: Operator) -> Schema:
    """Return the columns of an operator's late tuples."""
    match judge:
        case WindowJoin() | RowsJoin() | HopJoin() | ObliviousJoin() | TimeSlices():
            return judge.late_schema
        case Detect():
            return MISSED
        case _:
            return judge.inputs[0].schema


def _judges(node: Operator) -> bool:
    held = isinstance(node, Flow | FlowBundle)  # what they cannot carry on is held, not late
    return not held and not any(order for each in node.inputs for order in _orders(each))


def _orders(node: Operator) -> Iterator[Operator]:
    if isinstance(node, Ordered):
        yield node
    elif not is_stateful(node):
        for each in node.inputs:
            yield from _orders(each)


def _is_new(node: Operator, foreign: Container[str]) -> bool:
    if key(node) in foreign or not node.inputs:
        return True
    return not is_stateful(node) and any(_is_new(each, foreign) for each in node.inputs)
