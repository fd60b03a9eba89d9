"""Windows against brute force: every tuple is remembered, every window is counted out by hand."""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import example, given, settings
from hypothesis import strategies as st

from penstock.engine.states.sharing import parts
from penstock.engine.states.sharing.panes import PaneState
from penstock.engine.states.sharing.parts import Part
from penstock.engine.trains.rows import Rows, in_memory
from penstock.model.schema import Schema
from penstock.model.trains import BEGIN_OF_TIME, END_OF_TIME
from penstock.plan.operators import EventTime, Scan, WindowAggregate
from penstock.plan.operators.windows.hops import Hops, spans
from penstock.plan.operators.windows.window_aggregate import PANE, Numbers
from tests.examples import examples

TUPLES = st.lists(st.integers(-40, 80), max_size=6)
FAR = 400  # windows beyond this number hold no tuple that comes here


@st.composite
def spanning(draw: st.DrawFn) -> Hops:
    size = draw(st.integers(1, 12))
    return spans(size, draw(st.integers(1, size)))


@st.composite
def hopping(draw: st.DrawFn) -> Hops:
    """Draw windows with a stated begin: landmarks, with gaps, growing, shrinking, going back."""
    begin = draw(st.integers(-20, 40))
    size = draw(st.integers(1, 15))
    sign = draw(st.sampled_from([1, 1, -1]))
    upper = draw(st.integers(1 if sign < 0 else 0, 9))
    lower = draw(st.integers(0 if upper else 1, 9))
    count = draw(st.none() | st.integers(1, 6))
    return Hops(begin, begin + size, sign * lower, sign * upper, count)


WINDOWS = spanning() | hopping()


def aggregate(hops: Hops) -> WindowAggregate:
    scan = Scan("s", 1, Schema(), (EventTime("ts"),))
    return WindowAggregate(scan, EventTime("ts"), hops, (), (), Schema())


def partials(hops: Hops, tuples: list[tuple[int, int]]) -> pa.Table:
    """Return tuples of (time, number) as partials: which numbers each pane holds."""
    inside = [each for each in tuples if is_possible(hops, each[0])]
    panes = sorted({hops.pane_of(time) for time, _ in inside})
    held = [[n for time, n in inside if hops.pane_of(time) == start] for start in panes]
    return pa.table({PANE: pa.array(panes, pa.int64()), "held": pa.array(held, LISTS)})


def is_possible(hops: Hops, time: int) -> bool:
    """Judge as the condition in the SQL does."""
    after = hops.endless or hops.lower < 0 or time >= hops.begin
    return after and (hops.upper > 0 or time < hops.end)


LISTS = pa.list_(pa.int64())


@dataclass(frozen=True)
class Run:
    """Times of the tuples that arrive, by how much the watermark rises, what happens besides."""

    times: list[int]
    rise: int
    spill: bool


RUNS = st.lists(st.builds(Run, TUPLES, st.integers(0, 25), st.booleans()), max_size=12)


@dataclass
class BruteForce:
    """Knows every tuple that an open window took, and answers for each window once."""

    hops: Hops
    begin: int
    watermark: int = BEGIN_OF_TIME
    latest: int = BEGIN_OF_TIME
    taken: dict[int, set[int]] = field(default_factory=dict)

    def numbers(self) -> Iterator[int]:
        """Yield the windows that are answered for."""
        hops = self.hops
        for number in range(-FAR if hops.endless else 0, FAR):
            start = hops.start_of(number)
            there = (hops.count is None or number < hops.count) and start < hops.end_of(number)
            if there and (hops.lower <= 0 or start >= self.begin):
                yield number

    def holding(self, time: int) -> list[int]:
        hops = self.hops
        return [n for n in self.numbers() if hops.start_of(n) <= time < hops.end_of(n)]

    def is_closed(self, number: int) -> bool:
        hops = self.hops
        end = hops.end if hops.upper <= 0 else hops.end_of(number)
        return self.watermark == END_OF_TIME or end <= self.watermark

    def is_late(self, time: int) -> bool:
        return any(self.is_closed(number) for number in self.holding(time))

    def arrive(self, time: int, number: int) -> None:
        if is_possible(self.hops, time):
            self.latest = max(self.latest, time)
        for window in self.holding(time):
            if not self.is_closed(window):
                self.taken.setdefault(window, set()).add(number)

    def close(self, watermark: int) -> dict[int, set[int]]:
        self.watermark = watermark
        closed = {number: held for number, held in self.taken.items() if self.is_closed(number)}
        self.taken = {n: held for n, held in self.taken.items() if n not in closed}
        if (
            watermark == END_OF_TIME and self.hops.lower == 0 < self.hops.upper
        ):  # a landmark would go on for ever
            last = next(n for n in range(FAR) if self.hops.end_of(n) > self.latest)
            closed = {n: held for n, held in closed.items() if n <= last}
        return closed


def read(rows: Rows) -> pa.Table:
    return (
        rows.table if rows.table is not None else pa.concat_tables(map(pq.read_table, rows.paths))
    )


def closed_by(state: PaneState, parts: list[Rows], numbers: Numbers) -> dict[int, set[int]]:
    """Return what the close would answer: which tuples each window of the range holds."""
    found: dict[int, set[int]] = {}
    for row in pa.concat_tables(map(read, parts)).to_pylist() if parts else []:
        for number in range(numbers[0], numbers[1] + 1):
            if state.hops.start_of(number) <= row[PANE] < state.hops.end_of(number):
                found.setdefault(number, set()).update(row["held"])
    return found


def compact(state: PaneState) -> None:
    while parts := state.to_compact():
        tables = [read(part.rows) for part in parts]
        state.replace(parts, pa.concat_tables(tables))


def play(state: PaneState, oracle: BruteForce, runs: list[Run], spill: Path) -> None:
    """Play the runs on both; they must answer the same after each."""
    number = 0
    watermark = BEGIN_OF_TIME
    promised = BEGIN_OF_TIME
    for run in [*runs, None]:
        times = run.times if run else []
        tuples = [(time, number + place) for place, time in enumerate(times)]
        number += len(times)
        arrived = partials(state.hops, tuples)
        if state.hops.lower == state.hops.upper == state.hops.pane:  # no gaps, nor beyond the last
            assert state.is_late(arrived) == any(map(oracle.is_late, times))
        for time, each in tuples:
            oracle.arrive(time, each)
        if run is None:
            watermark = END_OF_TIME
        elif run.rise:
            watermark = -30 if watermark == BEGIN_OF_TIME else watermark + run.rise
        new = state.absorbed(arrived if times else None)
        numbers = state.closing(watermark, new)
        answer = closed_by(state, state.parts_of(numbers, new), numbers) if numbers else {}
        assert answer == oracle.close(watermark)
        if state.aggregate.times:
            place = state.hops.start_of if state.hops.is_steady else state.hops.end_of
            assert all(place(number) >= promised for number in answer)
        state.accept(new, watermark)
        assert state.watermark_out(watermark) >= promised
        promised = state.watermark_out(watermark)
        if run and run.spill:
            for part in state.parts:
                part.rows.leave_memory(spill)
        compact(state)
    assert promised == END_OF_TIME
    assert state.hops.lower <= 0 or state.parts == []


@given(WINDOWS, RUNS, st.integers(2, 4))
@example(Hops(0, 1, 0, 1), [Run([], 1, False), Run([], 25, False), Run([0], 6, False)], 2)
@settings(deadline=None, max_examples=examples(150))
def test_windows_close_once_with_what_they_hold_when_the_watermark_passes(
    hops: Hops, runs: list[Run], compact_at: int
) -> None:
    with (
        mock.patch.object(parts, "COMPACT_PARTS", compact_at),
        tempfile.TemporaryDirectory() as spill,
    ):
        play(
            PaneState(aggregate(hops)),
            BruteForce(hops, BEGIN_OF_TIME),
            runs,
            Path(spill),
        )


@given(spanning(), RUNS, st.integers(-50, 50))
@settings(deadline=None)
def test_windows_that_began_before_the_query_are_not_answered(
    hops: Hops, runs: list[Run], begin: int
) -> None:
    with tempfile.TemporaryDirectory() as spill:
        play(
            PaneState(aggregate(hops), begin),
            BruteForce(hops, begin),
            runs,
            Path(spill),
        )


@given(spanning(), st.lists(TUPLES, min_size=1, max_size=6), st.integers(-60, 90))
@settings(deadline=None)
def test_a_state_keeps_no_pane_that_no_open_window_needs(
    hops: Hops, trains: list[list[int]], watermark: int
) -> None:
    state = PaneState(aggregate(hops))
    for times in trains:
        state.accept(state.absorbed(partials(hops, [(t, 0) for t in times])), watermark)
    kept = [pane for part in state.parts for pane in read(part.rows)[PANE].to_pylist()]
    size, slide = hops.end, hops.lower
    first_open = next(s for s in range(-(10**3) * slide, 10**4, slide) if s + size > watermark)
    assert all(pane >= first_open for pane in kept)
    assert all(part.first_pane <= part.last_pane for part in state.parts)


def part(*panes: int) -> Part:
    table = partials(spans(1, 1), [(pane, pane) for pane in panes])
    return Part(in_memory(table), min(panes), max(panes))


def test_parts_of_one_level_are_combined_once_there_are_sixteen() -> None:
    state = PaneState(aggregate(spans(100, 100)), parts=[part(n) for n in range(15)])
    assert state.to_compact() == []
    state.parts.append(part(15))
    assert state.to_compact() == state.parts


def test_combined_parts_wait_for_others_of_their_level() -> None:
    state = PaneState(aggregate(spans(1000, 1000)))
    for number in range(16 * 16):
        state.parts.append(part(number))
        while parts := state.to_compact():
            state.replace(parts, pa.concat_tables([each.rows.table for each in parts]))
        assert len(state.parts) <= 15 * 2 + 1
    (only,) = state.parts
    assert (only.level, only.first_pane, only.last_pane) == (2, 0, 255)
    assert sorted(only.rows.table[PANE].to_pylist()) == list(range(256))


def test_parts_that_were_combined_are_deleted(tmp_path: Path) -> None:
    state = PaneState(aggregate(spans(100, 100)), parts=[part(n) for n in range(16)])
    for each in state.parts:
        each.rows.to_disk(tmp_path)
    parts = state.to_compact()
    whole = pa.concat_tables([each.rows.table for each in parts])
    state.replace(parts, whole)
    assert list(tmp_path.iterdir()) == []


def test_without_a_watermark_nothing_closes_and_everything_is_kept() -> None:
    state = PaneState(aggregate(spans(10, 10)))
    new = state.absorbed(partials(spans(10, 10), [(5, 1)]))
    assert state.closing(BEGIN_OF_TIME, new) is None
    state.accept(new, BEGIN_OF_TIME)
    assert len(state.parts) == 1
    assert state.watermark_out(BEGIN_OF_TIME) == BEGIN_OF_TIME
    assert state.late_span is None


def test_a_tuple_at_the_very_end_belongs_to_the_next_window() -> None:
    state = PaneState(aggregate(spans(10, 10)))
    new = state.absorbed(partials(spans(10, 10), [(9, 1), (10, 2)]))
    assert state.closing(10, new) == (0, 0)
    assert state.closing(9, new) is None
