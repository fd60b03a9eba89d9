from collections.abc import Sequence

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from penstock.functions import (
    Dataflow,
    Items,
    Runner,
    central,
    identity,
    os_join,
    parallel,
    pipe,
    s_merge,
    stream_function,
)
from tests.unit.functions.worlds import READING, ordered_times, readings


@stream_function(over="items", role="combine")
def difference(parts: Sequence[Items]) -> dict[str, object]:
    return {"value": parts[1]["value"] - parts[0]["value"]}


def run_both(flow: Dataflow, streams: Sequence[Items], order: Sequence[int]) -> Items:
    """Return what comes of two streams of which one item at a time comes, in some order."""
    runner = Runner(flow, (READING, READING))
    state, places, out = runner.fresh(), [0, 0], []
    for at in [*order, 0, 1]:
        stop = places[at] + 1 if len(out) < len(order) else len(streams[at])
        train = streams[at].table.slice(places[at], max(0, stop - places[at]))
        places[at] = max(places[at], stop)
        ended = {at} if len(out) == len(order) else {0, 1} if len(out) > len(order) else ()
        delivered, state = runner.step(state, {at: train}, ended=ended)
        assert not [each for each in delivered.withheld if each.kind != "missed"]
        out.append(delivered.outputs[0].table)
    return Items.from_table(READING, pa.concat_tables(out))


orders = st.lists(st.integers(0, 1), max_size=12)


@given(ordered_times, ordered_times, orders)
def test_two_streams_merge_to_one_in_order(
    first: list[int], second: list[int], order: list[int]
) -> None:
    flow = pipe(parallel(2, identity), central(s_merge, 2))
    got = run_both(flow, [readings(first), readings(second)], order)
    assert got.times.tolist() == sorted([*first, *second])
    values = sorted(float(place) for times in (first, second) for place in range(len(times)))
    assert sorted(got["value"].tolist()) == values


@given(ordered_times, ordered_times, orders)
def test_two_streams_join_the_kth_of_each_time(
    first: list[int], second: list[int], order: list[int]
) -> None:
    got = run_both(central(os_join(difference), 2), [readings(first), readings(second)], order)
    expected = []
    for time in sorted({*first} & {*second}):
        ours = [place for place, each in enumerate(first) if each == time]
        theirs = [place for place, each in enumerate(second) if each == time]
        expected += [(time, float(b - a)) for a, b in zip(ours, theirs, strict=False)]
    assert list(zip(got.times.tolist(), got["value"].tolist(), strict=True)) == expected
