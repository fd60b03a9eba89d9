"""Buffers against a model that remembers every train."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from penstock.engine.trains.buffers import KEEP_TRAINS, Buffer, BufferBounds, BufferPool, Train
from penstock.engine.trains.rows import in_files, in_memory
from penstock.model.schema import Column, Schema
from penstock.model.trains import BEGIN_OF_TIME, TrainInfo
from tests.examples import examples
from tests.unit.model.arrow_twin import arrow_without_spark

SCHEMA = Schema((Column("n", "bigint"),))
ROW = 8  # bytes of one row
NAMES = ("a", "b", "c")
KEYS = ("one", "two")


@pytest.fixture(scope="module", autouse=True)
def no_spark() -> Iterator[None]:
    with arrow_without_spark():
        yield


def table(*numbers: int) -> pa.Table:
    return pa.table({"n": pa.array(numbers, pa.int64())})


def train(
    number: int, *rows: int, watermark: int = BEGIN_OF_TIME, last: int | None = None
) -> Train:
    held = in_memory(table(*rows))
    info = TrainInfo(number, len(rows), held.memory_bytes, 0.0, last, last, watermark)
    return Train(info, held)


def numbers(trains: list[Train]) -> list[int]:
    return [each.info.number for each in trains]


def rows_of(trains: list[Train]) -> list[list[int]]:
    return [each.rows.to_table(SCHEMA)["n"].to_pylist() for each in trains]


class BufferModel(RuleBasedStateMachine):
    """Two buffers of one pool; `written` has every train's rows, `read` where the readers are."""

    def __init__(self) -> None:
        super().__init__()
        self.spill = Path(tempfile.mkdtemp())
        bounds = BufferBounds(buffer_bytes=10 * ROW, total_bytes=14 * ROW, keep_bytes=4 * ROW)
        self.pool = BufferPool(self.spill, bounds)
        self.buffers = {key: self.pool.open(key, SCHEMA, keep=KEEP_TRAINS) for key in KEYS}
        self.written: dict[str, list[list[int]]] = {key: [] for key in KEYS}
        self.read: dict[str, dict[str, int]] = {key: {} for key in KEYS}
        self.spilled = dict.fromkeys(KEYS, 0)

    def teardown(self) -> None:
        shutil.rmtree(self.spill)

    @rule(key=st.sampled_from(KEYS), size=st.integers(0, 12))
    def append(self, key: str, size: int) -> None:
        number = len(self.written[key]) + 1
        rows = [number * 100 + place for place in range(size)]
        self.written[key].append(rows)
        new = train(number, *rows, watermark=number)
        self.buffers[key].append(new)
        more = self.buffers[key].figures().spilled_bytes - self.spilled[key]
        assert more == size * ROW if new.rows.paths else more in (0, size * ROW)
        self.spilled[key] += more

    @rule(key=st.sampled_from(KEYS), reader=st.sampled_from(NAMES))
    def register(self, key: str, reader: str) -> None:
        self.buffers[key].register(reader)
        self.read[key].setdefault(reader, len(self.written[key]))

    @rule(key=st.sampled_from(KEYS), reader=st.sampled_from(NAMES), like=st.sampled_from(NAMES))
    def register_where_another_is(self, key: str, reader: str, like: str) -> None:
        if (at := self.read[key].get(like)) is not None:
            self.buffers[key].register(reader, at)
            self.read[key].setdefault(reader, at)

    @rule(key=st.sampled_from(KEYS), reader=st.sampled_from(NAMES))
    def unregister(self, key: str, reader: str) -> None:
        self.buffers[key].unregister(reader)
        self.read[key].pop(reader, None)

    @rule(key=st.sampled_from(KEYS), reader=st.sampled_from(NAMES), share=st.floats(0, 1))
    def advance(self, key: str, reader: str, share: float) -> None:
        if (at := self.read[key].get(reader)) is not None:
            to = at + round((len(self.written[key]) - at) * share)
            self.buffers[key].advance(reader, to)
            self.read[key][reader] = to

    @precondition(lambda self: self.written["one"])
    @rule()
    def drop(self) -> None:
        self.pool.drop("one")
        self.buffers["one"] = self.pool.open("one", SCHEMA, keep=KEEP_TRAINS)
        self.written["one"], self.read["one"], self.spilled["one"] = [], {}, 0

    @invariant()
    def readers_see_all_that_they_have_not_read_in_order(self) -> None:
        for key, buffer in self.buffers.items():
            assert buffer.readers() == self.read[key]
            for reader, at in self.read[key].items():
                waiting = buffer.waiting(reader)
                assert numbers(waiting) == list(range(at + 1, len(self.written[key]) + 1))
                assert rows_of(waiting) == self.written[key][at:]

    @invariant()
    def those_that_trains_wait_for_are_known(self) -> None:
        late = {
            key: [reader for reader in buffer.readers() if buffer.waiting(reader)]
            for key, buffer in self.buffers.items()
        }
        assert {key: sorted(each.behind()) for key, each in self.buffers.items()} == {
            key: sorted(readers) for key, readers in late.items()
        }
        waited_for = {buffer.key for buffer in self.pool.waited_for()}
        assert waited_for == {key for key, readers in late.items() if readers}

    @invariant()
    def what_somebody_needs_is_unread(self) -> None:
        for key, buffer in self.buffers.items():
            slowest = min(self.read[key].values(), default=len(self.written[key]))
            assert rows_of(buffer.unread()) == self.written[key][slowest:]
            some = min((at for name, at in self.read[key].items() if name == "a"), default=None)
            wanted = [] if some is None else self.written[key][some:]
            assert rows_of(buffer.unread({"a"})) == wanted

    @invariant()
    def memory_stays_within_the_bounds(self) -> None:
        for buffer in self.pool:
            assert buffer.memory_bytes <= self.pool.bounds.buffer_bytes
            assert buffer.memory_bytes == sum(t.rows.memory_bytes for t in buffer._trains)
        assert self.pool.memory_bytes() == sum(each.memory_bytes for each in self.pool)
        assert self.pool.memory_bytes() <= self.pool.bounds.total_bytes

    @invariant()
    def what_all_have_read_is_kept_while_it_costs_little(self) -> None:
        for key, buffer in self.buffers.items():
            slowest = min(self.read[key].values(), default=len(self.written[key]))
            here = [rows for each in buffer._trains for rows in rows_of([each])]
            assert here == self.written[key][len(self.written[key]) - len(here) :]
            kept = [each for each in buffer._trains if each.info.number <= slowest]
            if kept:
                assert buffer.memory_bytes <= self.pool.bounds.keep_bytes
                assert kept[0].rows.table is not None
            assert buffer.to_table()["n"].to_pylist() == [n for rows in here for n in rows]

    @invariant()
    def the_figures_are_true(self) -> None:
        for key, buffer in self.buffers.items():
            figures = buffer.figures()
            unread = buffer.unread()
            assert (figures.trains, figures.rows) == (len(unread), sum(map(len, rows_of(unread))))
            assert figures.memory_bytes == buffer.memory_bytes
            assert figures.spilled_bytes == self.spilled[key]
            assert (buffer.written, buffer.watermark) == (
                len(self.written[key]),
                len(self.written[key]) or BEGIN_OF_TIME,
            )
        on_disk = sum(path.stat().st_size for path in self.spill.iterdir())
        assert sum(buffer.figures().disk_bytes for buffer in self.pool) == on_disk


BufferModel.TestCase.settings = settings(
    deadline=None, max_examples=examples(60), stateful_step_count=30
)
test_buffers_keep_their_laws = BufferModel.TestCase


def opened(tmp_path: Path, **bounds: int) -> Buffer:
    return BufferPool(tmp_path, BufferBounds(**bounds)).open("key", SCHEMA, keep=KEEP_TRAINS)


def test_a_train_out_of_turn_is_a_defect(tmp_path: Path) -> None:
    buffer = opened(tmp_path)
    buffer.append(train(1, 1))
    for number in (1, 3):
        with pytest.raises(ValueError, match="does not follow"):
            buffer.append(train(number, 1))


def test_the_latest_time_never_goes_back(tmp_path: Path) -> None:
    buffer = opened(tmp_path)
    assert buffer.high is None
    for number, (last, high) in enumerate([(5, 5), (3, 5), (None, 5), (9, 9), (8, 9)], 1):
        buffer.append(train(number, 1, last=last))
        assert buffer.high == high


def test_a_reader_that_comes_again_keeps_its_place(tmp_path: Path) -> None:
    buffer = opened(tmp_path)
    buffer.register("a")
    buffer.append(train(1, 1))
    buffer.register("a")
    assert numbers(buffer.waiting("a")) == [1]


def test_nothing_waits_for_a_reader_that_has_gone(tmp_path: Path) -> None:
    buffer = BufferPool(tmp_path).open("one", SCHEMA)
    buffer.register("a")
    buffer.append(train(1, 7))
    buffer.unregister("a")
    assert buffer.waiting("a") == []


def test_at_most_so_many_read_trains_stay_whatever_their_size(tmp_path: Path) -> None:
    buffer = opened(tmp_path)
    for number in range(1, KEEP_TRAINS + 10):
        buffer.append(train(number, number))
    assert buffer.to_table().num_rows == KEEP_TRAINS


def test_what_an_operator_gave_goes_when_everybody_has_read_it(tmp_path: Path) -> None:
    buffer = BufferPool(tmp_path).open("key", SCHEMA)
    for reader in ("a", "b"):
        buffer.register(reader)
    buffer.append(train(1, 1))
    buffer.advance("a", 1)
    assert buffer.to_table().num_rows == 1
    buffer.advance("b", 1)
    assert buffer.to_table().num_rows == 0


def test_a_reader_ahead_of_trains_that_are_read_again_waits_for_the_first_new_one(
    tmp_path: Path,
) -> None:
    buffer = opened(tmp_path)
    buffer.register("a", 2)
    for number, behind in ((1, []), (2, []), (3, ["a"])):
        buffer.append(train(number, number))
        assert buffer.behind() == behind
    assert numbers(buffer.waiting("a")) == [3]


def test_read_trains_give_way_before_a_new_one_goes_to_disk(tmp_path: Path) -> None:
    buffer = opened(tmp_path, buffer_bytes=10 * ROW, keep_bytes=10 * ROW)
    for number in range(1, 4):
        buffer.append(train(number, *range(4)))
        assert not list(tmp_path.iterdir())
    assert buffer.to_table().num_rows == 8


def test_a_sources_own_files_are_neither_counted_nor_removed(tmp_path: Path) -> None:
    own = tmp_path / "own.parquet"
    pq.write_table(table(1, 2, 3), own)
    buffer = opened(tmp_path / "spill", keep_bytes=0)
    buffer.register("a")
    rows = in_files([own], owned=False)
    buffer.append(Train(TrainInfo(1, rows.count, 0, 0.0), rows))
    figures = buffer.figures()
    assert (figures.rows, figures.memory_bytes, figures.disk_bytes) == (3, 0, 0)
    assert rows_of(buffer.waiting("a")) == [[1, 2, 3]]
    buffer.advance("a", 1)
    buffer.clear()
    assert own.exists()


def test_a_buffer_is_opened_once_and_gone_after_it_is_dropped(tmp_path: Path) -> None:
    pool = BufferPool(tmp_path, BufferBounds(buffer_bytes=0))
    buffer = pool.open("key", SCHEMA)
    assert pool.open("key", SCHEMA) is buffer
    buffer.register("a")
    buffer.append(train(1, 1, 2))
    assert len(list(tmp_path.iterdir())) == 1
    pool.drop("key")
    assert pool.get("key") is None
    assert not list(tmp_path.iterdir())
    assert list(pool) == []
