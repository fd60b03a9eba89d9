"""Which columns of an operator's rows grow in the long run, and what is known of that."""

import math

from penstock.model.key_order import MOST, KeyOrder
from penstock.model.schema import quoted
from penstock.plan.operators.gate import Gate
from penstock.plan.operators.joins.oblivious_join import ObliviousJoin
from penstock.plan.operators.operator import Operator
from penstock.plan.operators.tuples.filter import Filter
from penstock.plan.operators.tuples.project import Project
from penstock.plan.operators.tuples.scan import Scan
from penstock.plan.operators.tuples.take import Take

Orders = dict[str, KeyOrder]


def orders_of(operator: Operator) -> Orders:
    """Return the columns that order an operator's rows; there are none where nothing says so.

    Leaving tuples out brings none of the others further out of place.
    """
    match operator:
        case Scan(ordered_by=order):
            return {} if order is None else {order.column: order}
        case Filter() | Gate() | Take():
            return orders_of(operator.input)
        case Project():
            below = {quoted(name): order for name, order in orders_of(operator.input).items()}
            return {
                name: _named(below[sql], name) for name, sql in operator.columns if sql in below
            }
        case ObliviousJoin():
            return dict(_joined(operator))
        case _:
            return {}


def _joined(join: ObliviousJoin) -> Orders:
    """Return the keys of what a join gives: by (3.10) where all is known of its inputs."""
    shown = join.joined[:1] if join.decides else join.joined
    factor, copies = None if join.decides else _factor(join), _copies(join)
    names = [dict(each.columns).get(each.time.column) for each in shown]
    return {
        name: KeyOrder(name, factor, None, copies if factor is not None else None)
        for name in names
        if name is not None
    }


def _factor(join: ObliviousJoin) -> int | None:
    copies = _copies(join)
    factors = [each.order.factor for each in join.joined]
    known = [each for each in factors if each is not None]
    if copies is None or len(known) < len(factors):
        return None
    own = (each.order.duplicates or 1 for each in join.joined)
    return min(MOST - 1, sum(k * copies // m for k, m in zip(known, own, strict=True)))


def _copies(join: ObliviousJoin) -> int | None:
    known = [each.order.duplicates for each in join.joined]
    found = [each for each in known if each is not None]
    return min(MOST - 1, math.prod(found)) if len(found) == len(known) else None


def _named(order: KeyOrder, name: str) -> KeyOrder:
    return KeyOrder(name, order.scrambled, order.rate, order.duplicates)
