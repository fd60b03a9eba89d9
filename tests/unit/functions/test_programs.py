import pickle
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.functions import (
    Dataflow,
    Runner,
    StreamType,
    central,
    fft3,
    fft3_combine,
    fft3_part,
    magnitude,
    os_join,
    pcc,
    pipe,
    rr_part,
    s_merge,
    sort,
    window_aggregate,
    window_distribute,
    window_split,
)
from penstock.functions.flows.figures import by_node
from penstock.functions.flows.flow import FlowInput
from penstock.functions.flows.program import program
from penstock.model.schema import Column
from tests.examples import examples
from tests.unit.functions.scattered import run_scattered, site_programs
from tests.unit.functions.worlds import RADIO, assert_same, cuts, radio, run_all

FLOWS = (
    window_distribute(3, fft3),
    window_split(4, fft3),
    pcc(2, fft3_part, window_distribute(2, fft3), os_join(fft3_combine)),
    pcc(2, rr_part, window_split(2, fft3), s_merge),
)


@settings(max_examples=examples(50))
@given(st.sampled_from(FLOWS), st.lists(st.integers(0, 6), max_size=7).map(sorted), st.data())
def test_sites_that_run_apart_in_any_order_give_the_whole(
    flow: Dataflow, times: list[int], data: st.DataObject
) -> None:
    items = radio(times, 8)
    (whole,), _ = run_all(central(fft3), items)
    ends = [0, *sorted(data.draw(cuts(len(items)))), len(items)]
    trains = [items.table.slice(a, b - a) for a, b in pairwise(ends)]
    got, withheld = run_scattered(
        flow, RADIO, trains, lambda n: data.draw(st.integers(0, n - 1), label="next")
    )
    assert not withheld
    assert got.times.tolist() == whole.times.tolist()
    assert_same(got.take(np.argsort(got.numbers)), whole, 1e-5)


def test_a_site_program_knows_its_ways() -> None:
    programs = site_programs(window_split(2, fft3), (RADIO,))
    assert [each.numbers for each in programs] == [(0, 1), (2,), (3,), (4,)]
    assert [each.ways_in for each in programs] == [(FlowInput(0),), (0,), (1,), (2, 3)]
    assert [each.ways_out for each in programs] == [(0, 1), (2,), (3,), (4,)]


def test_any_nodes_can_be_one_program() -> None:
    flow = window_split(2, fft3)
    branch = program(flow, (RADIO,), [1, 3])
    assert (branch.ways_in, branch.ways_out) == ((FlowInput(0),), (3,))
    assert pickle.loads(pickle.dumps(branch)) == branch


def test_a_flow_carries_its_state_through_bytes() -> None:
    items = radio(range(10), 4)
    flow = pipe(central(window_aggregate("sum", 4, 3)), central(fft3))
    (whole,), _ = run_all(flow, items)
    for cut in range(10):
        (got,), _ = run_all(flow, items, [cut, cut + 1], kill=True)
        assert_same(got, whole)


def test_figures_are_told_by_node_site_and_phase() -> None:
    items = radio(range(4), 8)
    runner = Runner(pcc(2, rr_part, magnitude, s_merge), (RADIO,))
    ticks = iter(range(1000))
    first, states = runner.step(runner.fresh(), {0: items.table}, clock=lambda: float(next(ticks)))
    then, _ = runner.step(states, {0: radio([9], 8).table}, ended=True, clock=lambda: 0.0)
    figures = by_node((*first.figures, *then.figures))
    assert [each.phase for each in figures] == [
        "partition",
        "partition",
        "compute",
        "compute",
        "combine",
    ]
    assert [each.site for each in figures] == [0, 0, 1, 2, 3]
    assert [each.items_in for each in figures] == [5, 5, 3, 2, 5]
    assert figures[-1].items_out == 5
    assert [each.seconds for each in figures] == [1.0] * 5
    channel_bytes = 3 * 8 * 8
    assert figures[2].bytes_in == pytest.approx(3 * channel_bytes, abs=3 * 24)
    assert figures[2].bytes_out < figures[2].bytes_in


def test_late_items_and_items_without_a_time_are_set_aside_at_the_entry() -> None:
    runner = Runner(central(fft3), (RADIO,))
    _, states = runner.step(runner.fresh(), {0: radio([5, 3], 4).table})
    delivered, _ = runner.step(states, {0: radio([4, 5, 6], 4).table})
    assert delivered.outputs[0].times.tolist() == [5, 6]
    (late,) = delivered.withheld
    assert (late.kind, late.function, late.items.times.tolist()) == ("late", "entry", [4])
    table = radio([7, 8], 4).table
    missing = pa.array([None, 8], pa.timestamp("us", "UTC"))
    delivered, _ = runner.step(states, {0: table.set_column(0, "ts", missing)})
    assert delivered.outputs[0].times.tolist() == [8]
    (held,) = delivered.withheld
    assert (held.kind, held.cause) == ("held", "ts is NULL")


def test_items_without_an_order_go_through_in_theirs() -> None:
    free = StreamType("free", (Column("v", "float vector"),))
    items = free(v=np.arange(10, dtype=np.float32).reshape(5, 2))
    for flow in (window_distribute(2, magnitude), window_split(2, sort)):
        (got,), withheld = run_all(flow, items, [2])
        assert not withheld
        assert got["v"].tolist() == items["v"].tolist()


def test_a_merge_in_a_flow_says_when_it_wants_to_be_asked() -> None:
    runner = Runner(central(s_merge(timeout=2.0), 2), (RADIO, RADIO))
    delivered, state = runner.step(runner.fresh(), {0: radio([1], 2).table}, now=5.0)
    assert (len(delivered.outputs[0]), delivered.wake) == (0, 7.0)
    delivered, _ = runner.step(state, {}, now=7.0)
    assert (len(delivered.outputs[0]), delivered.wake) == (1, None)
