"""Which operators decide that a tuple comes too late for a query."""

from collections.abc import Iterator

from penstock.plan.operators import Operator, Ordered, is_stateful, walk


def judges(root: Operator) -> tuple[Operator, ...]:
    """Return the operators whose late tuples are the query's.

    Those are the last stateful operator's, or those of the orders that it reads: what is in order
    is not late. What lies below belongs to the queries that are read.
    """
    stateful = [node for node in walk(root) if is_stateful(node)]
    if not stateful:
        return ()
    orders = tuple(node for each in stateful[-1].inputs for node in _orders(each))
    return orders or (stateful[-1],)


def _orders(node: Operator) -> Iterator[Operator]:
    if isinstance(node, Ordered):
        yield node
    elif not is_stateful(node):
        for each in node.inputs:
            yield from _orders(each)
