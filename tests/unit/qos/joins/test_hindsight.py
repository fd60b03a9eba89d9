import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.qos.joins.hindsight import (
    dependent_factor,
    lag,
    multiplicity,
    scrambling_factor,
    virtual_indexes,
)

KEYS = st.lists(st.integers(0, 12), min_size=1, max_size=30)


def test_the_lags_of_figure_3_1() -> None:
    """Two streams of which all holds that the text says of the figure, which is lost; p is 1."""
    first, second = np.array([63, 63, 66, 64, 62, 68, 67]), np.array([65, 68, 63])
    assert [each[2] for each in virtual_indexes(first)] == [5, 5]  # of 66: p + 4
    assert virtual_indexes(first)[1][0] == 3  # of 63 the last: p + 2
    assert lag(first, second, (3, 1)) == 0  # at t5
    assert lag(first, second, (7, 2)) == 3  # at t10


def test_a_lag_does_not_count_the_other_s_disorder() -> None:
    assert lag(np.arange(1, 11), np.array([1, 2, 9, 3, 4, 5, 6, 7, 8, 10]), (10, 5)) == 5


@given(KEYS)
def test_a_tuple_stands_within_the_factor_of_its_virtual_index(keys: list[int]) -> None:
    stream = np.array(keys)
    first, last = virtual_indexes(stream)
    places, factor = np.arange(1, len(keys) + 1), scrambling_factor(stream)
    assert (places - first <= factor).all()  # (3.4a)
    assert (last - places <= factor).all()  # (3.4b)
    assert multiplicity(stream) == max(last - first + 1)
    assert factor >= multiplicity(stream) - 1  # ledger C1


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), min_size=1, max_size=30))
def test_the_order_by_another_key_is_bounded_by_3_11(pairs: list[tuple[int, int]]) -> None:
    keys, others = (np.array(each) for each in zip(*pairs, strict=True))
    bound = 2 * scrambling_factor(keys) + dependent_factor(keys, others)
    assert scrambling_factor(others) <= bound
