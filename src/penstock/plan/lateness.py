"""Which operators decide that a tuple comes too late for a query."""

from collections.abc import Iterator

from penstock.model.schema import Column, Schema
from penstock.plan.operators import (
    Detect,
    Flow,
    HopJoin,
    Operator,
    Ordered,
    RowsJoin,
    WindowJoin,
    is_stateful,
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


def judges(root: Operator) -> tuple[Operator, ...]:
    """Return the operators whose late tuples are the query's.

    Those are the last stateful operator's, or those of the orders that it reads: what is in order
    is not late. What lies below belongs to the queries that are read.
    """
    stateful = [node for node in walk(root) if is_stateful(node)]
    if not stateful:
        return ()
    orders = tuple(node for each in stateful[-1].inputs for node in _orders(each))
    return orders or tuple(_chain(stateful[-1]))


def late_schema(judge: Operator) -> Schema:
    """Return the columns of an operator's late tuples."""
    match judge:
        case WindowJoin() | RowsJoin() | HopJoin():
            return judge.late_schema
        case Detect():
            return MISSED
        case _:
            return judge.inputs[0].schema


def _orders(node: Operator) -> Iterator[Operator]:
    if isinstance(node, Ordered):
        yield node
    elif not is_stateful(node):
        for each in node.inputs:
            yield from _orders(each)


def _chain(node: Operator) -> Iterator[Operator]:
    """Yield the operator, and the joins below that are of the same FROM."""
    yield node
    if isinstance(node, WindowJoin) and node.sides[0].carries:
        below = node.left
        while not isinstance(below, WindowJoin):  # tables may be joined in between
            (below,) = below.inputs
        yield from _chain(below)
