"""Windows against brute force: every tuple is remembered, every window is counted out by hand."""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.engine.rows import Rows, in_memory
from penstock.engine.states import panes as pane_states
from penstock.engine.states.panes import PaneState, Part
from penstock.model.schema import Schema
from penstock.model.trains import BEGIN_OF_TIME, END_OF_TIME
from penstock.plan.operators import EventTime, Scan, WindowAggregate
from penstock.plan.operators.window_aggregate import PANE

TUPLES = st.lists(st.integers(-40, 80), max_size=6)
WINDOWS = st.integers(1, 12).flatmap(lambda size: st.tuples(st.just(size), st.integers(1, size)))


def aggregate(size: int, slide: int) -> WindowAggregate:
    scan = Scan("s", 1, Schema(), (EventTime("ts"),))
    return WindowAggregate(scan, EventTime("ts"), size, slide, (), (), Schema())


def partials(pane: int, tuples: list[tuple[int, int]]) -> pa.Table:
    """Return tuples of (time, number) as partials: which numbers each pane holds."""
    panes = sorted({time - time % pane for time, _ in tuples})
    held = [[n for time, n in tuples if time - time % pane == start] for start in panes]
    return pa.table({PANE: pa.array(panes, pa.int64()), "held": pa.array(held, LISTS)})


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

    size: int
    slide: int
    begin: int
    watermark: int = BEGIN_OF_TIME
    taken: dict[int, set[int]] = field(default_factory=dict)

    def starts_around(self, time: int) -> Iterator[int]:
        """Yield the starts of the windows that hold this time and are answered for."""
        last = time - time % self.slide
        return (s for s in range(last, time - self.size, -self.slide) if s >= self.begin)

    def is_closed(self, start: int) -> bool:
        return self.watermark == END_OF_TIME or start + self.size <= self.watermark

    def is_late(self, time: int) -> bool:
        return any(self.is_closed(start) for start in self.starts_around(time))

    def arrive(self, time: int, number: int) -> None:
        for start in self.starts_around(time):
            if not self.is_closed(start):
                self.taken.setdefault(start, set()).add(number)

    def close(self, watermark: int) -> dict[int, set[int]]:
        self.watermark = watermark
        closed = {start: held for start, held in self.taken.items() if self.is_closed(start)}
        self.taken = {s: held for s, held in self.taken.items() if s not in closed}
        return closed


def read(rows: Rows) -> pa.Table:
    return (
        rows.table if rows.table is not None else pa.concat_tables(map(pq.read_table, rows.paths))
    )


def closed_by(state: PaneState, parts: list[Rows], starts: tuple[int, int]) -> dict[int, set[int]]:
    """Return what the close would answer: which tuples each window of the range holds."""
    found: dict[int, set[int]] = {}
    for row in pa.concat_tables(map(read, parts)).to_pylist() if parts else []:
        for start in range(starts[0], starts[1] + 1, state.aggregate.slide):
            if start <= row[PANE] < start + state.aggregate.size:
                found.setdefault(start, set()).update(row["held"])
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
        arrived = partials(state.aggregate.pane, tuples)
        bound = state.closed_end
        late = {time for time in times if oracle.is_late(time)}
        first = state.first_start if state.first_start is not None else BEGIN_OF_TIME
        in_sight = [time for time in times if time >= first]
        assert late == {time for time in in_sight if bound is not None and time < bound}
        assert state.is_late(arrived) == bool(late)
        for time, each in tuples:
            oracle.arrive(time, each)
        if run is None:
            watermark = END_OF_TIME
        elif run.rise:
            watermark = -30 if watermark == BEGIN_OF_TIME else watermark + run.rise
        new = state.absorbed(arrived if times else None)
        starts = state.closing(watermark, new)
        answer = closed_by(state, state.parts_of(starts, new), starts) if starts else {}
        assert answer == oracle.close(watermark)
        assert all(start >= promised for start in answer)
        state.accept(new, watermark)
        assert state.watermark_out(watermark) >= promised
        promised = state.watermark_out(watermark)
        if run and run.spill:
            for part in state.parts:
                part.rows.leave_memory(spill)
        compact(state)
    assert promised == END_OF_TIME
    assert state.parts == []


@given(WINDOWS, RUNS, st.integers(2, 4))
@settings(deadline=None, max_examples=150)
def test_windows_close_once_with_what_they_hold_when_the_watermark_passes(
    window: tuple[int, int], runs: list[Run], compact_at: int
) -> None:
    with (
        mock.patch.object(pane_states, "COMPACT_PARTS", compact_at),
        tempfile.TemporaryDirectory() as spill,
    ):
        play(
            PaneState(aggregate(*window)),
            BruteForce(*window, BEGIN_OF_TIME),
            runs,
            Path(spill),
        )


@given(WINDOWS, RUNS, st.integers(-50, 50))
@settings(deadline=None)
def test_windows_that_began_before_the_query_are_not_answered(
    window: tuple[int, int], runs: list[Run], begin: int
) -> None:
    with tempfile.TemporaryDirectory() as spill:
        play(
            PaneState(aggregate(*window), begin),
            BruteForce(*window, begin),
            runs,
            Path(spill),
        )


@given(WINDOWS, st.lists(TUPLES, min_size=1, max_size=6), st.integers(-60, 90))
@settings(deadline=None)
def test_a_state_keeps_no_pane_that_no_open_window_needs(
    window: tuple[int, int], trains: list[list[int]], watermark: int
) -> None:
    state = PaneState(aggregate(*window))
    for times in trains:
        state.accept(
            state.absorbed(partials(state.aggregate.pane, [(t, 0) for t in times])), watermark
        )
    kept = [pane for part in state.parts for pane in read(part.rows)[PANE].to_pylist()]
    size, slide = window
    first_open = next(s for s in range(-(10**3) * slide, 10**4, slide) if s + size > watermark)
    assert all(pane >= first_open for pane in kept)
    assert all(part.first_pane <= part.last_pane for part in state.parts)


def part(*panes: int) -> Part:
    table = partials(1, [(pane, pane) for pane in panes])
    return Part(in_memory(table), min(panes), max(panes))


def test_parts_of_one_level_are_combined_once_there_are_sixteen() -> None:
    state = PaneState(aggregate(100, 100), parts=[part(n) for n in range(15)])
    assert state.to_compact() == []
    state.parts.append(part(15))
    assert state.to_compact() == state.parts


def test_combined_parts_wait_for_others_of_their_level() -> None:
    state = PaneState(aggregate(1000, 1000))
    for number in range(16 * 16):
        state.parts.append(part(number))
        while parts := state.to_compact():
            state.replace(parts, pa.concat_tables([each.rows.table for each in parts]))
        assert len(state.parts) <= 15 * 2 + 1
    (only,) = state.parts
    assert (only.level, only.first_pane, only.last_pane) == (2, 0, 255)
    assert sorted(only.rows.table[PANE].to_pylist()) == list(range(256))


def test_parts_that_were_combined_are_deleted(tmp_path: Path) -> None:
    state = PaneState(aggregate(100, 100), parts=[part(n) for n in range(16)])
    for each in state.parts:
        each.rows.to_disk(tmp_path)
    parts = state.to_compact()
    whole = pa.concat_tables([each.rows.table for each in parts])
    state.replace(parts, whole)
    assert list(tmp_path.iterdir()) == []


def test_without_a_watermark_nothing_closes_and_everything_is_kept() -> None:
    state = PaneState(aggregate(10, 10))
    new = state.absorbed(partials(10, [(5, 1)]))
    assert state.closing(BEGIN_OF_TIME, new) is None
    state.accept(new, BEGIN_OF_TIME)
    assert len(state.parts) == 1
    assert state.watermark_out(BEGIN_OF_TIME) == BEGIN_OF_TIME
    assert state.closed_end is None


def test_a_tuple_at_the_very_end_belongs_to_the_next_window() -> None:
    state = PaneState(aggregate(10, 10))
    new = state.absorbed(partials(10, [(9, 1), (10, 2)]))
    assert state.closing(10, new) == (0, 0)
    assert state.closing(9, new) is None
