"""Feeds over a scripted source: it ends, fails and pauses where its script says."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.engine.interfaces.interface import Ingest, Offer, Parts
from penstock.engine.interfaces.rejects import Reject, rejects_of
from penstock.engine.trains.buffers import Train
from penstock.errors import SourceError
from penstock.model.definitions import Connector, StreamDefinition
from penstock.model.schema import Column, Schema
from penstock.model.trains import BEGIN_OF_TIME, END_OF_TIME
from penstock.plan.operators import EventTime, Scan
from penstock.runtime.durable.journal_memory import MemoryJournal
from penstock.runtime.sources.source_reader import PATIENCE, SourceReader
from tests.unit.model.arrow_twin import arrow_of, arrow_without_spark
from tests.unit.model.scripted import END, FAIL, FAIL_READ, PAUSE, ScriptedSource, Step

SCHEMA = Schema((Column("ts", "timestamp"), Column("n", "int")))
ARROW = arrow_of(SCHEMA.ddl())


@pytest.fixture(scope="module", autouse=True)
def no_spark() -> Iterator[None]:
    with arrow_without_spark():
        yield


def rows(*times: int | None) -> pa.Table:
    """Return rows with these times (microseconds)."""
    return pa.table(
        [pa.array(times, ARROW[0].type), pa.array(range(len(times)), pa.int32())], schema=ARROW
    )


def source_reader_of(
    script: list[Step], rejects: Path, *, slack: int = 0, timed: bool = True
) -> SourceReader:
    definition = StreamDefinition(
        "s", SCHEMA, Connector("twin"), "ts" if timed else None, timedelta(microseconds=slack)
    )
    scan = Scan("s", 1, SCHEMA, (EventTime("ts"),) if timed else ())
    return SourceReader(scan, definition, ScriptedSource(script), rejects)


def opened(script: list[Step], rejects: Path, **options: Any) -> SourceReader:
    source_reader = source_reader_of(script, rejects, **options)
    source_reader.open()
    return source_reader


def next_train(source_reader: SourceReader, journal: MemoryJournal) -> Train | None:
    """Cut and read once, as the intake does; a source that fails is asked again later."""
    try:
        cut = source_reader.cut(journal)
    except SourceError as error:
        source_reader.failed(str(error), 0.0)
        return None
    if cut is None:
        return None
    try:
        train = source_reader.read(cut, now=9.0)
    except SourceError as error:
        source_reader.failed(str(error), 0.0)
        source_reader.put_back(cut)
        return None
    source_reader.recovered()
    return train


def drained(source_reader: SourceReader, journal: MemoryJournal, steps: int = 100) -> list[Train]:
    found = [next_train(source_reader, journal) for _ in range(steps)]
    return [train for train in found if train is not None]


def told(trains: list[Train]) -> list[tuple[object, ...]]:
    return [(t.info, t.rows.to_table(SCHEMA).to_pylist()) for t in trains]


TIMES = st.lists(st.integers(0, 50), max_size=4)
SCRIPTS = st.lists(
    st.one_of(TIMES.map(lambda times: rows(*times)), st.sampled_from([PAUSE, FAIL, FAIL_READ])),
    max_size=8,
)


@given(SCRIPTS, st.integers(0, 20))
@settings(deadline=None)
def test_trains_are_numbered_and_their_watermark_trails_the_latest_time_by_the_slack(
    script: list[Step], slack: int
) -> None:
    source_reader = opened([*script, END], Path("unused"), slack=slack)
    *trains, last = drained(source_reader, MemoryJournal())
    given_ = [step for step in script if isinstance(step, pa.Table)]
    assert [t.info.number for t in (*trains, last)] == list(range(1, len(given_) + 2))
    seen: list[int] = []
    for train, table in zip(trains, given_, strict=True):
        times = table["ts"].cast(pa.int64()).to_pylist()
        seen += times
        assert train.rows.to_table(SCHEMA).equals(table)
        assert (train.info.first, train.info.last) == (
            (min(times), max(times)) if times else (None, None)
        )
        assert train.info.watermark == (max(seen) - slack if seen else BEGIN_OF_TIME)
        assert train.info.rows == len(times)
    assert (last.info.watermark, last.rows.count) == (END_OF_TIME, 0)
    assert source_reader.ended
    assert source_reader.rows == len(seen)


@given(SCRIPTS, st.data())
@settings(deadline=None)
def test_a_feed_that_is_restored_anywhere_gives_the_same_trains(
    script: list[Step], data: st.DataObject
) -> None:
    script = [*script, END]
    expected = told(drained(opened(script, Path("unused")), MemoryJournal()))
    journal = MemoryJournal()
    first = opened(script, Path("unused"))
    before = drained(first, journal, data.draw(st.integers(0, 12), label="steps"))
    at = data.draw(st.integers(0, len(before)), label="readers stand behind")
    second = source_reader_of(script, Path("unused"))
    second.restore(first.snapshot(at), journal.trains_after(second.key, at))
    second.open()
    assert told(drained(second, journal)) == expected[at:]
    assert second.rows == sum(len(each[1]) for each in expected)


@given(SCRIPTS)
@settings(deadline=None)
def test_a_train_is_in_the_journal_before_it_is_read(script: list[Step]) -> None:
    source_reader, journal = opened([*script, END], Path("unused")), MemoryJournal()
    for _ in script:
        try:
            cut = source_reader.cut(journal)
        except SourceError:
            continue
        if cut is not None:
            recorded = journal.trains_after(source_reader.key, 0)[-1]
            assert recorded.number == cut.number
            assert (recorded.boundary, recorded.arrived) == (cut.boundary, cut.arrived)
            source_reader.put_back(cut)
            next_train(source_reader, journal)


def test_a_cut_that_was_put_back_comes_first_and_is_not_recorded_again(tmp_path: Path) -> None:
    journal, source_reader = MemoryJournal(), opened([rows(1), rows(2)], tmp_path)
    cut = source_reader.cut(journal)
    assert cut is not None
    source_reader.put_back(cut)
    assert source_reader.cut(journal) == cut
    assert [each.number for each in journal.trains_after(source_reader.key, 0)] == [1]


def test_rows_without_a_time_are_kept_aside(tmp_path: Path) -> None:
    source_reader = opened([rows(5, None, 7, None)], tmp_path)
    train = next_train(source_reader, MemoryJournal())
    assert train is not None
    assert train.rows.to_table(SCHEMA)["n"].to_pylist() == [0, 2]
    assert (train.info.first, train.info.last, train.info.rows) == (5, 7, 2)
    assert (source_reader.rows, source_reader.rejected) == (2, 2)
    (path,) = tmp_path.iterdir()
    assert pq.read_table(path)["reason"].to_pylist() == ["ts: the event time is null"] * 2


def test_a_train_of_nothing_but_rejects_moves_no_watermark(tmp_path: Path) -> None:
    source_reader = opened([rows(5), rows(None)], tmp_path)
    trains = drained(source_reader, MemoryJournal())
    assert [t.info.watermark for t in trains] == [5, 5]
    assert [t.info.last for t in trains] == [5, None]


def test_a_stream_without_event_time_keeps_rows_without_one(tmp_path: Path) -> None:
    source_reader = opened([rows(5, None), END], tmp_path, timed=False)
    train, last = drained(source_reader, MemoryJournal())
    assert (train.rows.count, source_reader.rejected) == (2, 0)
    assert (train.info.first, train.info.watermark) == (None, BEGIN_OF_TIME)
    assert last.info.is_end


def test_what_the_source_rejects_and_what_has_no_time_are_kept_together(tmp_path: Path) -> None:
    refused = rejects_of([Reject("{", "no JSON", kind="syntax")])
    source_reader = opened([Ingest(rows(1, None), refused)], tmp_path)
    drained(source_reader, MemoryJournal())
    assert source_reader.rejected == 2
    (path,) = tmp_path.iterdir()
    assert pq.read_table(path)["reason"].to_pylist() == ["no JSON", "ts: the event time is null"]


def test_rejects_that_are_read_again_are_not_there_twice(tmp_path: Path) -> None:
    script: list[Step] = [rows(1, None), rows(2, None)]
    journal = MemoryJournal()
    drained(opened(script, tmp_path), journal)
    again = source_reader_of(script, tmp_path)
    again.restore(None, journal.trains_after(again.key, 0))
    again.open()
    drained(again, journal)
    assert sum(pq.read_metadata(path).num_rows for path in tmp_path.iterdir()) == 2
    assert again.rejected == 2


@pytest.mark.parametrize("nulls", [False, True])
def test_files_are_read_in_place_unless_a_time_is_missing(tmp_path: Path, nulls: bool) -> None:
    own = tmp_path / "own.parquet"
    pq.write_table(rows(5, 9, None) if nulls else rows(5, 9), own)
    source_reader = opened([Ingest((own,))], tmp_path / "rejects")
    (train,) = drained(source_reader, MemoryJournal())
    assert (train.info.rows, train.info.first, train.info.last) == (2, 5, 9)
    assert (train.rows.paths == (own,)) is not nulls
    assert source_reader.rejected == nulls


def test_no_train_is_cut_after_the_end(tmp_path: Path) -> None:
    source_reader, journal = opened([rows(1), END], tmp_path), MemoryJournal()
    assert len(drained(source_reader, journal)) == 2
    assert source_reader.cut(journal) is None
    again = source_reader_of([rows(1), END], tmp_path)
    again.restore(source_reader.snapshot(2), journal.trains_after(source_reader.key, 2))
    assert again.ended
    assert again.cut(journal) is None


def test_the_source_is_opened_behind_the_last_train_that_was_ever_cut(tmp_path: Path) -> None:
    journal = MemoryJournal()
    first = opened([rows(1), rows(2), rows(3), END], tmp_path)
    drained(first, journal)
    for at, expected in ((0, {"at": 2}), (1, {"at": 2}), (4, {"at": 2})):
        again = source_reader_of([rows(1), rows(2), rows(3), END], tmp_path)
        again.restore(first.snapshot(at), journal.trains_after(again.key, at))
        again.open()
        assert isinstance(again.interface, ScriptedSource)
        assert again.interface.after == expected


def test_a_source_is_given_up_after_some_failures_in_a_row(tmp_path: Path) -> None:
    source_reader = opened([FAIL] * PATIENCE + [rows(1)], tmp_path)
    journal = MemoryJournal()
    for _ in range(PATIENCE - 1):
        assert next_train(source_reader, journal) is None
    assert not source_reader.given_up
    assert next_train(source_reader, journal) is None
    assert source_reader.given_up
    assert source_reader.cause
    assert next_train(source_reader, journal) is not None
    assert (source_reader.given_up, source_reader.cause) == (False, "")


def test_a_train_arrived_when_its_source_says_or_else_now(tmp_path: Path) -> None:
    source_reader = opened([rows(1), END], tmp_path)
    first, last = drained(source_reader, MemoryJournal())
    assert (first.info.arrived, last.info.arrived) == (1.0, 9.0)


@pytest.mark.parametrize("again", [False, True])
def test_a_snapshot_behind_no_train_is_not_the_present(tmp_path: Path, again: bool) -> None:
    """A train that was read in and that nobody has run yet has to come again."""
    script: list[Step] = [rows(1), rows(2), rows(3)]
    journal, source_reader, at = MemoryJournal(), opened(script, tmp_path), 0
    if again:
        drained(source_reader, journal, steps=1)
        kept, at = source_reader.snapshot(1), 1
        source_reader = source_reader_of(script, tmp_path)
        source_reader.restore(kept, journal.trains_after(source_reader.key, 1))
        source_reader.open()
    drained(source_reader, journal)
    assert (
        source_reader.number,
        source_reader.snapshot(at).number,
        source_reader.snapshot(at).rows,
    ) == (3, at, at)


def test_a_snapshot_forgets_what_is_older(tmp_path: Path) -> None:
    source_reader = opened([rows(1), rows(2), rows(3)], tmp_path)
    drained(source_reader, MemoryJournal())
    assert source_reader.snapshot(2).number == 2
    assert (source_reader.snapshot(3).rows, source_reader.snapshot(3).watermark) == (3, 3)
    assert set(source_reader._history) == {3}


@pytest.mark.parametrize("raised", [ValueError("x"), IndexError("x"), pa.ArrowInvalid("x")])
def test_a_source_s_own_record_that_is_damaged_holds_the_stream(
    raised: Exception, tmp_path: Path
) -> None:
    source_reader = source_reader_of([], tmp_path)
    source_reader.interface = Damaged(raised)  # type: ignore[assignment]
    with pytest.raises(SourceError) as told:
        source_reader.open()
    assert told.value.hint


class Damaged:
    def __init__(self, raised: Exception) -> None:
        self.raised = raised

    def open(self, after: object) -> None:
        raise self.raised


class Wandering(ScriptedSource):
    """A source whose clock goes back, and which knows of one train nothing at all."""

    arrivals = (5.0, 3.0, 0.0, 40.0)

    def next(self) -> Offer | None:
        offer = super().next()
        return None if offer is None else Offer(offer.boundary, self.arrivals[offer.boundary["at"]])


def stamped(rejects: Path) -> SourceReader:
    numbers = Schema((Column("n", "int"),))
    definition = StreamDefinition("s", numbers, Connector("twin")).stamped()
    scan = Scan("s", 1, definition.schema, (EventTime("arrival"),))
    return SourceReader(
        scan, definition, Wandering([bare(1, 2), bare(3), bare(4), bare(5)]), rejects
    )


def bare(*numbers: int) -> pa.Table:
    return pa.table({"n": pa.array(numbers, pa.int32())})


def test_arrival_is_stamped_never_goes_back_and_is_the_same_when_read_again(tmp_path: Path) -> None:
    journal, reader = MemoryJournal(), stamped(tmp_path)
    reader.open()
    trains = []
    for now in (10.0, 11.0, 12.0, 13.0):
        cut = reader.cut(journal, now)
        assert cut is not None
        trains.append(reader.read(cut, now + 0.5))
    times = [train.rows.to_table(reader.scan.schema)["arrival"].to_pylist() for train in trains]
    seconds = [[each.timestamp() for each in train] for train in times]
    assert seconds == [[5.0, 5.0], [5.0], [12.0], [40.0]]
    assert [train.info.watermark for train in trains] == [5e6, 5e6, 12e6, 40e6]
    again = stamped(tmp_path)  # after a crash, from the journal alone
    again.restore(None, journal.trains_after(again.key, 0))
    for train in trains:
        cut = again.cut(journal, 99.0)
        assert cut is not None
        rows = again.read(cut, 99.5).rows
        assert rows.to_table(again.scan.schema) == train.rows.to_table(reader.scan.schema)


def test_rows_of_a_stamped_stream_come_without_the_stamp() -> None:
    plain = StreamDefinition("s", SCHEMA, Connector("twin"))
    assert plain.stamped().schema.names == ("ts", "n", "arrival")
    assert plain.stamped().as_read == plain
    assert plain.as_read is plain


def test_the_slowest_part_that_is_waited_for_says_how_far_time_is(tmp_path: Path) -> None:
    parts = [
        Parts({"a": 50}, ("a", "b")),  # nothing is known of b yet
        Parts({"b": 20}, ("a", "b")),
        Parts({"a": 60}, ("a", "b")),
        Parts({"a": 70}, ("a",)),
        Parts({"b": 30}, ("a", "b")),  # it is late, and time does not go back
    ]
    expected = [BEGIN_OF_TIME, 20, 20, 70, 70]
    journal = MemoryJournal()
    found = []
    kept = None
    for at in range(len(parts)):  # each in a fresh process, from a checkpoint
        script: list[Step] = [Ingest(rows(*each.highs.values()), parts=each) for each in parts]
        source_reader = source_reader_of(script, tmp_path)
        source_reader.restore(kept, [])
        source_reader.open()
        train = next_train(source_reader, journal)
        assert train is not None
        assert train.info.number == at + 1
        found.append(train.info.watermark)
        kept = source_reader.snapshot(at + 1)
    assert found == expected
