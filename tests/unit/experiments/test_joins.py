"""What the experiments on joins count with arrays, against joins that are run tuple by tuple."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.experiments.thesis.joins.forms import by_count, by_key, moments, passed_keys
from penstock.experiments.thesis.joins.lifetimes import accuracy, buffered, joined, least_buffers
from penstock.experiments.thesis.joins.streams import KeyedStream, Span, generated

KEYS = st.lists(st.integers(0, 5), min_size=1, max_size=12)
SIDES = st.lists(KEYS, min_size=2, max_size=3)


def streams_of(sides: list[list[int]], turns: list[int]) -> list[KeyedStream]:
    """Return streams whose tuples come one by one, in turns."""
    drawn = np.random.default_rng(turns)
    owners = drawn.permutation([at for at, keys in enumerate(sides) for _ in keys])
    return [
        KeyedStream(np.array(keys), np.flatnonzero(owners == at).astype(float))
        for at, keys in enumerate(sides)
    ]


def fifo(streams: list[KeyedStream], most: int) -> tuple[set, list[list[int]]]:
    """Return the rows of a join that keeps the newest tuples, and its buffers after each."""
    coming = sorted(
        (when, which, place)
        for which, each in enumerate(streams)
        for place, when in enumerate(each.times)
    )
    kept, rows, sizes = [[] for _ in streams], set(), []
    for _, which, place in coming:
        key = streams[which].keys[place]
        partners = [
            [place] if at == which else [p for p in kept[at] if streams[at].keys[p] == key]
            for at in range(len(streams))
        ]
        rows |= set(product(*partners))
        kept[which] = [*kept[which], place][-most:]
        sizes.append([len(each) for each in kept])
    return rows, sizes


def every(streams: list[KeyedStream]) -> set:
    places = product(*(range(len(each.keys)) for each in streams))
    return {
        row
        for row in places
        if len({int(s.keys[at]) for s, at in zip(streams, row, strict=True)}) == 1
    }


@settings(max_examples=80, deadline=None)
@given(SIDES, st.lists(st.integers(0, 99), min_size=1, max_size=4), st.integers(1, 6))
def test_rows_and_buffers_are_those_of_a_join_tuple_by_tuple(
    sides: list[list[int]], turns: list[int], most: int
) -> None:
    streams = streams_of(sides, turns)
    at = moments(streams)
    until = [by_count(each, at, np.full(len(at), float(most))) for each in streams]
    rows, sizes = fifo(streams, most)
    wanted = every(streams)
    assert accuracy(streams, until) == pytest.approx(len(rows) / len(wanted) if wanted else 1.0)
    found = [buffered(each, gone, at) for each, gone in zip(streams, until, strict=True)]
    assert [list(each) for each in zip(*found, strict=True)] == sizes


@settings(max_examples=80, deadline=None)
@given(SIDES, st.lists(st.integers(0, 99), min_size=1, max_size=4))
def test_by_key_loses_nothing_and_the_least_buffers_lose_nothing_either(
    sides: list[list[int]], turns: list[int]
) -> None:
    streams = streams_of(sides, turns)
    at = moments(streams)
    assert accuracy(streams, by_key(streams, at, [passed_keys(s, at) for s in streams])) == 1
    most = max(1, *(int(each.max()) for each in least_buffers(streams, at)))
    assert fifo(streams, most)[0] == every(streams)
    assert most == 1 or fifo(streams, most - 1)[0] != every(streams)


def test_rows_of_a_join_are_a_stream() -> None:
    one = KeyedStream(np.array([1, 2]), np.array([0.0, 3.0]), np.array([7, 8]))
    other = KeyedStream(np.array([2, 1, 2]), np.array([1.0, 2.0, 4.0]))
    rows = joined([one, other])
    assert rows.keys.tolist() == [1, 2, 2]
    assert rows.others.tolist() == [7, 8, 8]
    assert rows.times.tolist() == [2, 3, 4]


def test_a_congestion_and_a_burst_change_how_many_come() -> None:
    drawn = np.random.default_rng(5)
    stream = generated(drawn, 100, [Span(10, 40, 1 / 8), Span(80, 90, 8)], 40)
    came = np.diff(stream.came(np.array([0.0, 10.0, 40.0, 80.0, 90.0, 100.0])))
    assert came == pytest.approx([500, 188, 2000, 4000, 500], rel=0.25)
    assert 20 <= stream.factor <= 80
    assert stream.multiplicity == 2
