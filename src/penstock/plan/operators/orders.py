"""Which columns of an operator's rows grow in the long run, and what is known of that."""

import math
from collections.abc import Iterator

from penstock.model.key_order import MOST, KeyOrder
from penstock.model.schema import quoted
from penstock.plan.operators.gate import Gate
from penstock.plan.operators.joins.oblivious_join import KeyedInput, ObliviousJoin
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
        case Scan(ordered_by=orders):
            return {order.column: order for order in orders}
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
    """Return what orders the rows of a join: its keys, and then what else orders its inputs.

    Where all is known of the inputs, the factor by the keys is that of (3.10).
    """
    shown = join.joined[:1] if join.decides else join.joined
    factor, copies = None if join.decides else _factor(join), _copies(join)
    found: Orders = {}
    for each in shown:
        if (name := dict(each.columns).get(each.time.column)) is not None:
            found[name] = KeyOrder(name, factor, None, copies if factor is not None else None)
    for each in shown:
        for name, order in _by_others(each, factor, copies):
            found.setdefault(name, order)
    return found


def _by_others(
    each: KeyedInput, factor: int | None, copies: int | None
) -> Iterator[tuple[str, KeyOrder]]:
    """Yield the orders of a join's rows by columns of an input that are not its key: by (3.11).

    DSF of the input is no more than 2 k_A + k_B, for the reason of (3.11): to sort it by its key
    moves no tuple by more than k_A. Since each tuple comes up to `times` times among the rows, all
    that lies between two of them, and they themselves, do so as well.
    """
    out = dict(each.columns)
    for column, order in orders_of(each.operator).items():
        if column == each.time.column or column not in out:
            continue
        name = out[column]
        if None in (factor, copies, each.order.factor, order.factor):
            yield name, KeyOrder(name)
            continue
        assert factor is not None  # noqa: S101  (looked at above)
        assert copies is not None  # noqa: S101
        times = copies // (each.order.duplicates or 1)
        dependent = 2 * (each.order.factor or 0) + (order.factor or 0)
        among_rows = (dependent + 1) * times - 1
        scrambled = min(MOST - 1, 2 * factor + among_rows)
        duplicates = order.duplicates and min(MOST - 1, order.duplicates * times)
        yield name, KeyOrder(name, scrambled, None, duplicates)


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
