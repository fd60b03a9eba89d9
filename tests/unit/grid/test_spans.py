import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.grid.space.spans import Spans, spans

pairs = st.lists(st.tuples(st.integers(-20, 20), st.integers(0, 9)), max_size=6)
some = pairs.map(
    lambda each: spans(
        np.array([low for low, _ in each], np.int64),
        np.array([low + length for low, length in each], np.int64),
    )
)


def numbers(held: Spans) -> set[int]:
    return set(held.numbers().tolist())


@given(pairs)
def test_spans_are_the_union_of_their_ranges(given_: list[tuple[int, int]]) -> None:
    low = np.array([each for each, _ in given_], np.int64)
    held = spans(low, low + np.array([length for _, length in given_], np.int64))
    assert numbers(held) == {each for at, length in given_ for each in range(at, at + length)}
    assert len(held) == len(numbers(held))
    assert (held.starts[1:] > held.stops[:-1]).all()


@given(some, some)
def test_spans_are_sets(one: Spans, other: Spans) -> None:
    assert numbers(one & other) == numbers(one) & numbers(other)
    assert numbers(one - other) == numbers(one) - numbers(other)
    assert numbers(one | other) == numbers(one) | numbers(other)


@given(some)
def test_spans_hold_their_numbers(held: Spans) -> None:
    every = np.arange(-30, 40)
    assert set(every[held.holds(every)].tolist()) == numbers(held)


@given(some, st.integers(1, 7))
def test_spans_are_cut_into_parts_in_order(held: Spans, most: int) -> None:
    parts = held.cut(most)
    assert len(parts) <= most
    assert [each for part in parts for each in part.numbers().tolist()] == held.numbers().tolist()
    lengths = [len(part) for part in parts]
    assert not lengths or max(lengths) - min(lengths) <= 1
