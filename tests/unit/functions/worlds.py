"""Types, items and cuts that the tests of functions share."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from penstock.functions import Dataflow, Items, Runner, StreamType
from penstock.functions.operators.operator import Withheld
from penstock.model.schema import Column

RADIO = StreamType(
    "radio",
    (
        Column("ts", "timestamp"),
        Column("x", "complex vector"),
        Column("y", "complex vector"),
        Column("z", "complex vector"),
    ),
    "ts",
)
SIGNAL = StreamType("signal", (Column("ts", "timestamp"), Column("v", "double vector")), "ts")
READING = StreamType("reading", (Column("at", "bigint"), Column("value", "double")), "at")


def moments(times: Sequence[int]) -> Any:
    return np.array(times, dtype="datetime64[us]")


def radio(times: Sequence[int], lengths: int | Sequence[int], seed: int = 0) -> Items:
    """Return items with random channels; of one length, or of a length each."""
    rng = np.random.default_rng(seed)
    each = [lengths] * len(times) if isinstance(lengths, int) else lengths

    def channel() -> list[Any]:
        return [(rng.normal(size=n) + 1j * rng.normal(size=n)).astype(np.complex64) for n in each]

    return RADIO(ts=moments(times), x=channel(), y=channel(), z=channel())


def readings(times: Sequence[int]) -> Items:
    """Return items whose values are their places."""
    return READING(at=list(times), value=[float(place) for place in range(len(times))])


def run_all(
    flow: Dataflow, items: Items, cuts: Sequence[int] = (), *, kill: bool = False
) -> tuple[list[Items], list[Withheld]]:
    """Return the outputs of a flow over items that come in trains, and what was withheld."""
    runner = Runner(flow, (items.type,))
    states = runner.fresh()
    got: list[list[pa.Table]] = [[] for _ in range(flow.width)]
    withheld: list[Withheld] = []
    ends = [0, *sorted(cuts), len(items)]
    for place, (start, stop) in enumerate(pairwise(ends)):
        train = {0: items.table.slice(start, stop - start)}
        ended = place == len(ends) - 2
        delivered, states = runner.step(states, train, now=float(place), ended=ended)
        if kill:
            states = runner.restored(runner.kept(states))
        for number, output in enumerate(delivered.outputs):
            got[number].append(output.packed())
        withheld += delivered.withheld
    outputs = [
        Items.from_table(kind, pa.concat_tables(tables))
        for kind, tables in zip(runner.result_types, got, strict=True)
    ]
    return outputs, withheld


def assert_same(one: Items, other: Items, tolerance: float = 0.0) -> None:
    """Assert that items are the same, vectors up to a share of their greatest element."""
    assert one.type.columns == other.type.columns
    assert one.numbers.tolist() == other.numbers.tolist()
    for column in one.type.columns:
        if column.name not in one.type.vectors:
            assert one.table[column.name].to_pylist() == other.table[column.name].to_pylist()
            continue
        ours, theirs = one.vectors(column.name), other.vectors(column.name)
        assert ours.lengths.tolist() == theirs.lengths.tolist()
        for a, b in zip(ours.each(), theirs.each(), strict=True):
            if tolerance == 0.0:
                np.testing.assert_array_equal(a, b)
            elif len(a):
                assert np.abs(a - b).max() <= tolerance * max(1e-30, np.abs(b).max())


@st.composite
def cuts(draw: st.DrawFn, size: int) -> list[int]:
    """Return places at which a run of items is cut into trains."""
    return draw(st.lists(st.integers(0, size), max_size=4))


ordered_times = st.lists(st.integers(0, 12), max_size=12).map(sorted)
