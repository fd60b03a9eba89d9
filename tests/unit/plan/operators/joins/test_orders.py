"""What orders the rows of a join, by (3.10) and (3.11), against rows that are made one by one."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.model.key_order import KeyOrder
from penstock.model.schema import Column, Schema
from penstock.plan.operators import EventTime
from penstock.plan.operators.joins.join_input import JoinStep
from penstock.plan.operators.joins.oblivious_join import KeyedInput, ObliviousJoin
from penstock.plan.operators.orders import orders_of
from penstock.plan.operators.tuples.scan import Scan
from penstock.qos.joins.hindsight import multiplicity, scrambling_factor

PAIRS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=14)


def stated(column: str, keys: np.ndarray) -> KeyOrder:
    return KeyOrder(column, scrambling_factor(keys), None, multiplicity(keys))


def keyed(name: str, keys: np.ndarray, others: np.ndarray) -> KeyedInput:
    """Return an input that is joined by `a`, and of which all is stated."""
    orders = (stated("a", keys), stated("b", others))
    scan = Scan(name, 0, Schema((Column("a", "bigint"), Column("b", "bigint"))), (), orders)
    return KeyedInput(scan, EventTime("a"), (("a", f"{name}a"), ("b", f"{name}b")), orders[0])


@settings(max_examples=200, deadline=None)
@given(PAIRS, PAIRS, st.randoms(use_true_random=False))
def test_rows_are_no_more_scrambled_by_any_column_than_is_said(
    one: list[tuple[int, int]], other: list[tuple[int, int]], drawn: object
) -> None:
    sides = [np.array(one), np.array(other)]
    turns = [0] * len(one) + [1] * len(other)
    drawn.shuffle(turns)  # type: ignore[attr-defined]
    rows, came = [], [0, 0]
    for which in turns:
        key, value = sides[which][came[which]]
        came[which] += 1
        partners = [row for row in sides[1 - which][: came[1 - which]] if row[0] == key]
        pairs = [((key, value), tuple(each)) for each in partners]
        rows += pairs if which == 0 else [pair[::-1] for pair in pairs]
    if not rows:
        return
    joined = tuple(
        keyed(name, side[:, 0], side[:, 1]) for name, side in zip("xy", sides, strict=True)
    )
    said = orders_of(ObliviousJoin(joined, (JoinStep("INNER", ""),)))
    assert set(said) == {"xa", "xb", "ya", "yb"}
    for name, order in said.items():
        keys = np.array([row["xy".index(name[0])]["ab".index(name[1])] for row in rows])
        assert order.scrambled is not None
        assert scrambling_factor(keys) <= order.scrambled
        assert order.duplicates is None or multiplicity(keys) <= order.duplicates


def test_what_is_not_stated_is_measured() -> None:
    keys = np.arange(5)
    given_all, partly = keyed("x", keys, keys), keyed("y", keys, keys)
    orders = (KeyOrder("a"), KeyOrder("b", 3))
    scan = Scan("y", 0, partly.operator.schema, (), orders)
    partly = KeyedInput(scan, partly.time, partly.columns, orders[0])
    said = orders_of(ObliviousJoin((given_all, partly), (JoinStep("INNER", ""),)))
    assert {order.factor for order in said.values()} == {None}
