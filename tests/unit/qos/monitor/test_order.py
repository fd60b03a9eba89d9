from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.qos.joins.hindsight import lag, scrambling_factor
from penstock.qos.monitor.clustering import Clustering
from penstock.qos.monitor.order import Order

KEYS = st.lists(st.integers(-5, 12), min_size=1, max_size=40)


def trains(keys: list[int], cuts: list[int]) -> list[np.ndarray]:
    places = sorted({0, len(keys), *(cut % (len(keys) + 1) for cut in cuts)})
    return [np.array(keys[a:b], dtype=np.int64) for a, b in pairwise(places)]


def order_of(keys: list[int], cuts: list[int]) -> Order:
    order = Order()
    for train in trains(keys, cuts):
        order = order.add(train)
    return order


def scrambling(keys: list[int]) -> int:
    """Return the factor by its definition, over all pairs."""
    pairs = [(p, q) for p, a in enumerate(keys) for q, b in enumerate(keys) if a <= b]
    return max(p - q for p, q in pairs)


@given(KEYS, st.lists(st.integers(0, 40), max_size=5))
def test_the_scrambling_factor_is_that_of_the_definition_however_trains_are_cut(
    keys: list[int], cuts: list[int]
) -> None:
    assert order_of(keys, cuts).factor == scrambling(keys)


@given(KEYS, st.lists(st.integers(0, 40), max_size=5))
def test_multiplicity_is_how_often_a_key_came_at_most(keys: list[int], cuts: list[int]) -> None:
    assert order_of(keys, cuts).multiplicity == max(keys.count(key) for key in keys)


@given(
    st.lists(st.integers(0, 50), min_size=1, max_size=20, unique=True),
    st.lists(st.integers(0, 50), min_size=1, max_size=20, unique=True),
)
def test_lag_is_the_distance_to_the_next_of_kin_of_the_other_s_latest(
    mine: list[int], others: list[int]
) -> None:
    mine, others = sorted(mine), sorted(others)
    kin = [place for place, key in enumerate(mine, 1) if key <= others[-1]]
    assert order_of(mine, []).lag_to(order_of(others, [])) == len(mine) - (kin[-1] if kin else 0)


def test_a_long_sorted_stream_needs_little_memory() -> None:
    order = Order()
    for start in range(0, 200_000, 1000):
        order = order.add(np.arange(start, start + 1000))
    assert (order.factor, order.multiplicity, order.high) == (0, 1, 199_999)
    assert len(order.rises) <= 5000


def test_a_stream_that_never_gets_higher_is_kept_too() -> None:
    order = Order()
    for _ in range(50):
        order = order.add(np.full(1000, 7))
    assert (order.factor, order.multiplicity) == (49_999, 50_000)


@given(KEYS, st.lists(st.integers(0, 40), max_size=5), st.integers(0, 4))
def test_near_pairs_are_those_of_brute_force(keys: list[int], cuts: list[int], k: int) -> None:
    found = Clustering(k)
    for train in trains(keys, cuts):
        found = found.add(train)
    last: dict[int, int] = {}
    near = 0
    for place, key in enumerate(keys):
        near += key in last and place - last[key] - 1 <= k
        last[key] = place
    assert found.near == near
    whole = Clustering(k).add(np.array(keys))
    assert whole.pairs == len(keys) - len(set(keys))


def test_clustered_and_scattered_streams_are_told_apart() -> None:
    clustered = Clustering(0).add(np.repeat(np.arange(100), 10))
    scattered = Clustering(0).add(np.tile(np.arange(100), 10))
    assert (clustered.share, scattered.share) == (1.0, 0.0)


def test_a_lag_behind_disorder_is_that_of_the_definition() -> None:
    ahead = order_of(list(range(1, 11)), [])
    assert ahead.lag_to(order_of([1, 2, 9, 3, 4], [])) == 5
    assert ahead.lag_to(order_of([1, 2, 3, 1_000_000, 4], [])) == 5  # one stray key changes nothing


@given(st.permutations(range(1, 41)), st.integers(1, 40), st.integers(1, 40))
def test_a_lag_is_off_by_no_more_than_the_disorder(keys: list[int], mine: int, others: int) -> None:
    one, other = np.arange(1, 41), np.array(keys)
    found = order_of(list(one[:mine]), []).lag_to(order_of(keys[:others], []))
    right = max(0, lag(one, other, (mine, others)))
    assert abs(found - right) <= 2 * scrambling_factor(other)


@given(KEYS, st.lists(st.integers(0, 40), max_size=5), st.lists(st.integers(-5, 12), min_size=1))
def test_what_has_been_passed_does_not_come_again(
    keys: list[int], cuts: list[int], coming: list[int]
) -> None:
    factor = scrambling([*keys, *coming])
    passed = order_of(keys, cuts).passed(factor)
    first = sorted(keys[: max(0, len(keys) - factor)])
    assert passed == (first[-1] if first else None)
    assert passed is None or min(coming) > passed


@given(KEYS, st.lists(st.integers(-5, 12), min_size=1, max_size=10))
def test_each_key_is_as_far_out_of_place_as_by_definition(keys: list[int], new: list[int]) -> None:
    found = order_of(keys, []).out_of_place(np.array(new))
    whole = [*keys, *new]
    places = range(len(keys), len(whole))
    assert found.tolist() == [
        p - next(q for q, each in enumerate(whole) if each >= whole[p]) for p in places
    ]


def test_what_was_greatest_before_the_history_is_known() -> None:
    order = Order(history=8).add(np.array([5, *[3] * 20]))
    assert (order.factor, order.passed(20), order.passed(21)) == (20, 5, None)
    shorter = Order(history=4).add(np.arange(100))
    assert [shorter.passed(k) for k in (0, 1, 4)] == [99, 98, 95]


def test_a_lag_that_is_longer_than_what_is_remembered_is_told_all_the_same() -> None:
    far, behind = Order(history=50), Order(history=50)
    for begin in range(0, 1000, 10):
        far = far.add(np.arange(begin, begin + 10) // 2)
    behind = behind.add(np.arange(40))
    assert far.lag_to(behind) == pytest.approx(1000 - 80, abs=2)
