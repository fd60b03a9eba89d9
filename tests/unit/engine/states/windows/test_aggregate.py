"""Windows against brute force: every tuple is remembered, every window is counted out by hand."""

import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from unittest import mock

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from penstock.engine.spark.jobs.processor import LARGE, LARGE_STATES
from penstock.engine.states import parts
from penstock.engine.states.parts import Part, crowded
from penstock.engine.states.state import KeptPart, KeptState, Run, RunOutput
from penstock.engine.states.windows import aggregate as aggregate_module
from penstock.engine.states.windows import partitioned
from penstock.engine.states.windows.aggregate import AggregateState
from penstock.engine.states.windows.kept_partials import KeptPartials
from penstock.engine.states.windows.late_tuples import AT
from penstock.engine.states.windows.partitioned import PartitionedPartials
from penstock.engine.states.windows.progress import Progress
from penstock.engine.trains import rows
from penstock.engine.trains.memory_budget import MemoryBudget
from penstock.engine.trains.partition_files import partition_files
from penstock.engine.trains.rows import Rows, in_memory, write_parquet_at
from penstock.engine.trains.train_files import LargeBound
from penstock.model.schema import Column, Schema
from penstock.model.trains import BEGIN_OF_TIME, END_OF_TIME
from penstock.plan.operators import EventTime, Scan, WindowAggregate, key
from penstock.plan.operators.windows.window_aggregate import ARRIVAL, END, PANE, START, Numbers
from penstock.plan.operators.windows.window_assigner import WindowAssigner, spans
from penstock.plan.sharing.units import Unit
from tests.examples import examples
from tests.unit.model.arrow_twin import arrow_without_spark

TUPLES = st.lists(st.integers(-40, 80), max_size=6)
FAR = 400  # windows beyond this number hold no tuple that comes here


@st.composite
def spanning(draw: st.DrawFn) -> WindowAssigner:
    size = draw(st.integers(1, 12))
    return spans(size, draw(st.integers(1, size)))


@st.composite
def hopping(draw: st.DrawFn) -> WindowAssigner:
    """Draw windows with a stated begin: landmarks, with gaps, growing, shrinking, going back."""
    begin = draw(st.integers(-20, 40))
    size = draw(st.integers(1, 15))
    sign = draw(st.sampled_from([1, 1, -1]))
    upper = draw(st.integers(1 if sign < 0 else 0, 9))
    lower = draw(st.integers(0 if upper else 1, 9))
    count = draw(st.none() | st.integers(1, 6))
    return WindowAssigner(begin, begin + size, sign * lower, sign * upper, count)


WINDOWS = spanning() | hopping()


@pytest.fixture(scope="module", autouse=True)
def no_spark() -> Iterator[None]:
    with arrow_without_spark():
        yield


SCAN = Scan("s", 1, Schema((Column("n", "bigint"),)), (EventTime("ts"),))


def aggregate(assigner: WindowAssigner) -> WindowAggregate:
    return WindowAggregate(SCAN, EventTime("ts"), assigner, (), (), Schema())


def partials(assigner: WindowAssigner, tuples: list[tuple[int, int]]) -> pa.Table:
    """Return tuples of (time, number) as partials: which numbers each pane holds."""
    inside = [each for each in tuples if is_possible(assigner, each[0])]
    panes = sorted({pane_of(assigner, time) for time, _ in inside})
    held = [[n for time, n in inside if pane_of(assigner, time) == start] for start in panes]
    return pa.table({PANE: pa.array(panes, pa.int64()), "held": pa.array(held, LISTS)})


def pane_of(assigner: WindowAssigner, at: int) -> int:
    """Return the begin of the pane that holds a place."""
    return at - (at - assigner.begin) % assigner.pane


def is_possible(assigner: WindowAssigner, time: int) -> bool:
    """Judge as the condition in the SQL does."""
    after = assigner.endless or assigner.lower < 0 or time >= assigner.begin
    return after and (assigner.upper > 0 or time < assigner.end)


LISTS = pa.list_(pa.int64())


@dataclass(frozen=True)
class Arrival:
    """Times of the tuples that arrive, by how much the watermark rises, what happens besides."""

    times: list[int]
    rise: int
    spill: bool


RUNS = st.lists(st.builds(Arrival, TUPLES, st.integers(0, 25), st.booleans()), max_size=12)


@dataclass
class BruteForce:
    """Knows every tuple that an open window took, and answers for each window once."""

    assigner: WindowAssigner
    begin: int
    watermark: int = BEGIN_OF_TIME
    latest: int = BEGIN_OF_TIME
    taken: dict[int, set[int]] = field(default_factory=dict)

    def numbers(self) -> Iterator[int]:
        """Yield the windows that are answered for."""
        assigner = self.assigner
        for number in range(-FAR if assigner.endless else 0, FAR):
            start = assigner.start_of(number)
            there = (assigner.count is None or number < assigner.count) and start < assigner.end_of(
                number
            )
            if there and (assigner.lower <= 0 or start >= self.begin):
                yield number

    def holding(self, time: int) -> list[int]:
        assigner = self.assigner
        return [n for n in self.numbers() if assigner.start_of(n) <= time < assigner.end_of(n)]

    def is_closed(self, number: int) -> bool:
        assigner = self.assigner
        end = assigner.end if assigner.upper <= 0 else assigner.end_of(number)
        return self.watermark == END_OF_TIME or end <= self.watermark

    def is_late(self, time: int) -> bool:
        return any(self.is_closed(number) for number in self.holding(time))

    def arrive(self, time: int, number: int) -> None:
        if is_possible(self.assigner, time):
            self.latest = max(self.latest, time)
        for window in self.holding(time):
            if not self.is_closed(window):
                self.taken.setdefault(window, set()).add(number)

    def close(self, watermark: int) -> dict[int, set[int]]:
        self.watermark = watermark
        closed = {number: held for number, held in self.taken.items() if self.is_closed(number)}
        self.taken = {n: held for n, held in self.taken.items() if n not in closed}
        if (
            watermark == END_OF_TIME and self.assigner.lower == 0 < self.assigner.upper
        ):  # a landmark would go on for ever
            last = next(n for n in range(FAR) if self.assigner.end_of(n) > self.latest)
            closed = {n: held for n, held in closed.items() if n <= last}
        return closed


def read(rows: Rows) -> pa.Table:
    return (
        rows.table if rows.table is not None else pa.concat_tables(map(pq.read_table, rows.paths))
    )


@dataclass
class Hand:
    """Does by hand what a processor has Spark do; `tuples` are the run's (time, number)."""

    assigner: WindowAssigner
    spill: Path
    tuples: list[tuple[int, int]] = field(default_factory=list)
    room: MemoryBudget = field(default_factory=MemoryBudget)
    large_states: LargeBound = LARGE_STATES
    large: LargeBound = LARGE
    few_rows: int = 0
    slots: int = 2

    def panes(self, unit: Unit, rows: object, *_: object) -> pa.Table | None:
        return partials(self.assigner, self.tuples) if self.tuples else None

    def closed(
        self, unit: Unit, parts: list[Rows], numbers: Numbers, *_: object, **how: object
    ) -> pa.Table:
        """Return a row for each window of the range and each tuple that it holds."""
        found = [
            (self.assigner.start_of(number), self.assigner.end_of(number), number, each)
            for row in (pa.concat_tables(map(read, parts)).to_pylist() if parts else [])
            for number in range(numbers[0], numbers[1] + 1)
            if self.assigner.start_of(number) <= row[PANE] < self.assigner.end_of(number)
            for each in row["held"]
        ]
        columns = list(zip(*found, strict=True)) or [()] * 4
        return pa.table(dict(zip((START, END, "window", "held"), columns, strict=True)))

    def compact(
        self, unit: Unit, parts: list[Rows], collapse_before: int | None, *_: object
    ) -> pa.Table:
        table = pa.concat_tables(map(read, parts))
        bound = self.assigner.begin if collapse_before is None else collapse_before
        panes = [self.assigner.begin if p < bound else p for p in table[PANE].to_pylist()]
        moved = panes if collapse_before is not None else table[PANE]
        return table.set_column(0, PANE, pa.array(moved, pa.int64()) if panes is moved else moved)

    def views(self, unit: Unit, *, ahead: int | None) -> dict[str, str]:
        return {key(SCAN): "v"}

    def leaves(self, unit: Unit, rows: object, *, ahead: int | None) -> dict[str, object]:
        return {}

    def select(self, leaves: object, sql: str, schema: object, **how: object) -> pa.Table:
        """Return the tuples of the run: the only SELECT asks for late ones, and picks by itself."""
        times, numbers = zip(*self.tuples, strict=True)
        return pa.table({"n": numbers, AT: times})

    def step(
        self, state: AggregateState, tuples: list[tuple[int, int]], watermark: int
    ) -> RunOutput:
        self.tuples = tuples
        unit = Unit(state.aggregate, (SCAN,), state.aggregate)
        rows = {key(SCAN): [Rows(len(tuples), None)]}
        return state.step(Run(self, unit, rows, (watermark,), (BEGIN_OF_TIME,)))  # type: ignore[arg-type]


def windows_of(table: pa.Table) -> dict[int, set[int]]:
    found: dict[int, set[int]] = {}
    for row in table.to_pylist():
        found.setdefault(row["window"], set()).add(row["held"])
    return found


def play(
    state: AggregateState,
    oracle: BruteForce,
    runs: list[Arrival],
    spill: Path,
    hand: Hand | None = None,
) -> None:
    """Play the runs on both; they must answer the same after each."""
    assigner, number = state.aggregate.assigner, 0
    hand = hand or Hand(assigner, spill)
    watermark, promised = BEGIN_OF_TIME, BEGIN_OF_TIME
    for run in [*runs, None]:
        times = run.times if run else []
        tuples = [(time, number + place) for place, time in enumerate(times)]
        number += len(times)
        late = {each for time, each in tuples if oracle.is_late(time)}
        for time, each in tuples:
            oracle.arrive(time, each)
        if run is None:
            watermark = END_OF_TIME
        elif run.rise:
            watermark = -30 if watermark == BEGIN_OF_TIME else watermark + run.rise
        step = hand.step(state, tuples, watermark)
        if assigner.lower == assigner.upper == assigner.pane:  # no gaps, nor beyond the last
            assert set(step.late["n"].to_pylist() if step.late else ()) == late
        answer = windows_of(step.table)
        assert answer == oracle.close(watermark)
        if state.aggregate.times:
            place = assigner.start_of if assigner.is_steady else assigner.end_of
            assert all(place(number) >= promised for number in answer)
        assert state.promise((watermark,)) >= promised
        promised = state.promise((watermark,))
        if run and run.spill:
            for part in state.partials.parts:
                part.rows.leave_memory(spill)
            facts = json.loads(json.dumps(state.kept().facts))
            kept = [
                KeptPart(part.rows, json.loads(json.dumps(dict(part.facts))))
                for part in state.kept().parts
            ]
            state = AggregateState.back_alone(state.aggregate, KeptState(facts, kept))
    assert promised == END_OF_TIME
    assert assigner.lower <= 0 or state.partials.parts == []


@given(WINDOWS, RUNS, st.integers(2, 4))
@example(
    WindowAssigner(0, 1, 0, 1),
    [Arrival([], 1, False), Arrival([], 25, False), Arrival([0], 6, False)],
    2,
)
@settings(deadline=None, max_examples=examples(150))
def test_windows_close_once_with_what_they_hold_when_the_watermark_passes(
    assigner: WindowAssigner, runs: list[Arrival], compact_at: int
) -> None:
    with (
        mock.patch.object(parts, "COMPACT_PARTS", compact_at),
        tempfile.TemporaryDirectory() as spill,
    ):
        play(
            AggregateState.alone(aggregate(assigner)),
            BruteForce(assigner, BEGIN_OF_TIME),
            runs,
            Path(spill),
        )


@dataclass(frozen=True)
class HandPartitions(PartitionedPartials):
    """Does by hand what the jobs of a large state do; a row's partition goes by its pane."""

    @property
    def hand(self) -> Hand:
        hand = self.run.processor
        assert isinstance(hand, Hand)
        return hand

    def made(self) -> Part | None:
        table = partials(self.aggregate.assigner, self.hand.tuples)
        return self._sent(table, 0) if table.num_rows else None

    def scattered(self, parts: Sequence[Part]) -> Part:
        assert parts
        assert not any(part.partitions for part in parts)
        return self._sent(pa.concat_tables([read(part.rows) for part in parts]), 0)

    def combined(self, parts: Sequence[Part], collapse_before: int | None) -> Part:
        assert all(part.partitions for part in parts)
        whole = self.hand.compact(self.run.unit, [part.rows for part in parts], collapse_before)
        return self._sent(whole, parts[0].level + 1)

    def closed(
        self,
        parts: Sequence[Part],
        numbers: Numbers,
        emitted: str,
        touched: Sequence[Part] | None = None,
    ) -> pa.Table:
        return self.hand.closed(self.run.unit, [part.rows for part in parts], numbers)

    def _sent(self, table: pa.Table, level: int) -> Part:
        place = pa.array([pane // 3 % self.count for pane in table[PANE].to_pylist()], pa.int64())

        def write(job: Path) -> None:
            for task in range(self.count):
                mine = table.filter(pc.equal(place, task))
                write_parquet_at(mine, job / f"part-{task:05d}-1.parquet")

        made = partition_files(write, self.hand.spill, "run", range(self.count), PANE)
        assert made is not None
        return Part(made.rows, made.first, made.last, level, made.partitions)


@given(WINDOWS, RUNS, st.integers(2, 4), st.integers(0, 8), st.integers(0, 6), st.integers(0, 3))
@settings(deadline=None, max_examples=examples(150))
def test_a_large_state_closes_the_same_windows_wherever_its_partials_lie(
    assigner: WindowAssigner, runs: list[Arrival], compact_at: int, bound: int, loose: int, few: int
) -> None:
    with (
        mock.patch.object(parts, "COMPACT_PARTS", compact_at),
        mock.patch.object(partitioned, "COMPACT_PARTS", compact_at),
        mock.patch.object(aggregate_module, "PartitionedPartials", HandPartitions),
        mock.patch.object(aggregate_module, "may_partition", return_value=True),
        mock.patch.object(aggregate_module, "partitions_for", return_value=2),
        tempfile.TemporaryDirectory() as spill,
    ):
        large_states, large = LargeBound(bound, 1 << 20), LargeBound(loose, 1 << 20)
        hand = Hand(assigner, Path(spill), [], MemoryBudget(), large_states, large, few)
        state, oracle = (
            AggregateState.alone(aggregate(assigner)),
            BruteForce(assigner, BEGIN_OF_TIME),
        )
        play(state, oracle, runs, Path(spill), hand)


@given(spanning(), RUNS, st.integers(-50, 50))
@settings(deadline=None)
def test_windows_that_began_before_the_query_are_not_answered(
    assigner: WindowAssigner, runs: list[Arrival], begin: int
) -> None:
    with tempfile.TemporaryDirectory() as spill:
        play(
            AggregateState.alone(aggregate(assigner), begin),
            BruteForce(assigner, begin),
            runs,
            Path(spill),
        )


@given(spanning(), st.lists(TUPLES, min_size=1, max_size=6), st.integers(-60, 90))
@settings(deadline=None)
def test_a_state_keeps_no_pane_that_no_open_window_needs(
    assigner: WindowAssigner, trains: list[list[int]], watermark: int
) -> None:
    state = AggregateState.alone(aggregate(assigner))
    for times in trains:
        Hand(assigner, Path()).step(state, [(time, 0) for time in times], watermark)
    held = state.partials.parts
    kept = [pane for part in held for pane in read(part.rows)[PANE].to_pylist()]
    size, slide = assigner.end, assigner.lower
    first_open = next(s for s in range(-(10**3) * slide, 10**4, slide) if s + size > watermark)
    assert all(pane >= first_open for pane in kept)
    assert all(part.first <= part.last for part in held)


def part(*panes: int) -> Part:
    table = partials(spans(1, 1), [(pane, pane) for pane in panes])
    return Part(in_memory(table), min(panes), max(panes))


def test_parts_of_one_level_are_combined_once_there_are_sixteen() -> None:
    kept = KeptPartials([part(n) for n in range(15)])
    assert crowded(kept.parts) == []
    kept.parts.append(part(15))
    assert crowded(kept.parts) == kept.parts


def test_combined_parts_wait_for_others_of_their_level() -> None:
    kept = KeptPartials()
    for number in range(16 * 16):
        kept.parts.append(part(number))
        while parts := crowded(kept.parts):
            whole = pa.concat_tables([each.rows.table for each in parts])
            kept.replace(parts, whole, parts[0].level + 1)
        assert len(kept.parts) <= 15 * 2 + 1
    (only,) = kept.parts
    assert (only.level, only.first, only.last) == (2, 0, 255)
    assert sorted(only.rows.table[PANE].to_pylist()) == list(range(256))


def test_parts_that_were_combined_are_deleted_once_a_run_counts(tmp_path: Path) -> None:
    kept = KeptPartials([part(n) for n in range(16)])
    for each in kept.parts:
        each.rows.to_disk(tmp_path)
    parts = crowded(kept.parts)
    kept.replace(parts, pa.concat_tables([each.rows.table for each in parts]), 1)
    assert len(list(tmp_path.iterdir())) == 16
    kept.delete_gone()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("most", "in_memory"), [(1 << 20, 3), (0, 0)])
def test_large_parts_stay_in_memory_while_there_is_room(
    most: int, in_memory: int, tmp_path: Path
) -> None:
    assigner = spans(10, 10)
    state = AggregateState.alone(aggregate(assigner))
    hand = Hand(assigner, tmp_path, room=MemoryBudget(most))
    with mock.patch.object(rows, "SMALL_ROWS", 1):
        for number in range(3):
            hand.step(state, [(number, number), (number + 10, number)], BEGIN_OF_TIME)
    held = [part.rows for part in state.partials.parts]
    assert sum(each.table is not None for each in held) == in_memory
    assert len(list(tmp_path.iterdir())) == len(held) - in_memory
    step = hand.step(state, [], END_OF_TIME)
    assert windows_of(step.table) == {0: {0, 1, 2}, 1: {0, 1, 2}}


def test_tuples_are_laid_together_however_many_they_are(tmp_path: Path) -> None:
    assigner = spans(10, 10)
    kept = replace(aggregate(assigner), raw=("n",))
    state, hand = AggregateState.alone(kept), Hand(assigner, tmp_path)
    with mock.patch.object(parts, "COMPACT_PARTS", 3), mock.patch.object(rows, "SMALL_ROWS", 2):
        for number in range(3):
            hand.step(state, [(number, number), (number + 10, number)], BEGIN_OF_TIME)
    (only,) = state.partials.parts
    assert sorted(read(only.rows)[ARRIVAL].to_pylist()) == list(range(6))


def test_without_a_watermark_nothing_closes_and_everything_is_kept() -> None:
    state = AggregateState.alone(aggregate(spans(10, 10)))
    step = Hand(spans(10, 10), Path()).step(state, [(5, 1)], BEGIN_OF_TIME)
    assert step.table.num_rows == 0
    assert len(state.partials.parts) == 1
    assert state.promise((BEGIN_OF_TIME,)) == BEGIN_OF_TIME
    assert Progress(spans(10, 10)).late_span(None) is None


def test_a_tuple_at_the_very_end_belongs_to_the_next_window() -> None:
    progress = Progress(spans(10, 10))
    assert progress.closing(10, (0, 10)) == (0, 0)
    assert progress.closing(9, (0, 10)) is None
