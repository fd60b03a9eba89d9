from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.plan.operators import key
from penstock.runtime.loop.source_poller import RETRY_SECONDS
from penstock.runtime.topology.read_ahead import READ_AHEAD, ReadAhead
from tests.unit.model.arrow_twin import arrow_without_spark
from tests.unit.model.hall import DeathError, Hall, chain, scan
from tests.unit.model.scripted import FAIL, FAIL_READ


@pytest.fixture(scope="module", autouse=True)
def no_spark() -> Iterator[None]:
    with arrow_without_spark():
        yield


@pytest.fixture
def hall(tmp_path: Path) -> Hall:
    return Hall(tmp_path / "home", ("s", "t"))


def waiting(hall: Hall, stream: str) -> int:
    buffer = hall.topology.buffers.get(key(scan(stream)))
    assert buffer is not None
    return buffer.written


def test_a_stream_that_nobody_reads_stays_at_its_source(hall: Hall) -> None:
    hall.push("s", 1)
    hall.push("t", 2)
    hall.add("a", scan("s"))
    hall.take_in()
    assert (waiting(hall, "s"), waiting(hall, "t")) == (1, 0)
    assert hall.scripts["t"]._at == 0


def test_a_train_is_in_the_journal_before_it_is_read(hall: Hall) -> None:
    hall.add("a", scan("s"))
    hall.push("s", 1)
    hall.pool.dies = "before"
    with pytest.raises(DeathError):
        hall.take_in()
    assert [t.number for t in hall.journal.trains_after(key(scan("s")), 0)] == [1]
    assert waiting(hall, "s") == 0


def test_a_source_is_so_many_tiny_trains_ahead_and_no_more(hall: Hall) -> None:
    hall.add("a", scan("s"))
    for number in range(READ_AHEAD.tiny_trains + 10):
        hall.push("s", number)
    for _ in range(READ_AHEAD.tiny_trains + 10):
        hall.take_in()
    assert waiting(hall, "s") == READ_AHEAD.tiny_trains
    hall.deliver()
    hall.take_in()
    assert waiting(hall, "s") == READ_AHEAD.tiny_trains + 1


def test_of_larger_trains_it_is_fewer_ahead(tmp_path: Path) -> None:
    hall = Hall(tmp_path / "home", read_ahead=ReadAhead(trains=3, tiny_rows=5))
    hall.add("a", scan("s"))
    for number in range(9):
        hall.push("s", *range(number * 2, number * 2 + 2))
        hall.take_in()
    assert waiting(hall, "s") == 3


def test_of_very_many_rows_none_is_taken_ahead(tmp_path: Path) -> None:
    hall = Hall(tmp_path / "home", read_ahead=ReadAhead(rows=4))
    hall.add("a", scan("s"))
    for number in range(9):
        hall.push("s", *range(number * 2, number * 2 + 2))
        hall.take_in()
    assert waiting(hall, "s") == 2


def test_a_reader_that_is_held_does_not_hold_the_others(hall: Hall) -> None:
    bad = chain("s", "x")
    hall.add("a", bad)
    hall.add("b", scan("s"))
    hall.processor.fails.add(key(bad))
    for number in range(READ_AHEAD.tiny_trains + 10):
        hall.push("s", number)
        hall.step()
    hall.drain()
    assert hall.delivered("b") == list(range(READ_AHEAD.tiny_trains + 10))


def test_a_source_that_cannot_be_asked_is_asked_again_later(hall: Hall) -> None:
    hall.add("a", scan("s"))
    hall.scripts["s"].script.append(FAIL)
    hall.push("s", 1)
    (source_reader,) = [
        each for each in hall.topology.source_readers.values() if each.scan == scan("s")
    ]
    hall.take_in()
    assert (source_reader.cause.partition(":")[0], waiting(hall, "s")) == ("SOURCE_FAILED", 0)
    hall.take_in()
    assert waiting(hall, "s") == 0
    hall.clock.sleep(RETRY_SECONDS)
    hall.take_in()
    assert (source_reader.cause, waiting(hall, "s")) == ("", 1)


def test_a_train_that_cannot_be_read_is_read_again_later_as_the_same_train(hall: Hall) -> None:
    hall.add("a", scan("s"))
    hall.push("s", 1)
    hall.scripts["s"].script.append(FAIL_READ)
    hall.push("s", 2)
    hall.take_in()
    assert waiting(hall, "s") == 0
    hall.take_in()
    assert waiting(hall, "s") == 0
    hall.drain()
    assert hall.delivered("a") == [1, 2]
    assert [t.number for t in hall.journal.trains_after(key(scan("s")), 0)] == [1, 2]


def test_one_source_that_fails_does_not_stop_the_others(hall: Hall) -> None:
    hall.add("a", scan("s"))
    hall.add("b", scan("t"))
    hall.scripts["s"].script.append(FAIL)
    hall.push("t", 7)
    hall.take_in()
    hall.deliver()
    assert hall.delivered("b") == [7]


def test_what_comes_in_is_counted(hall: Hall) -> None:
    hall.add("a", scan("s"))
    hall.push("s", 1, 2, 3)
    hall.drain()
    (source_reader,) = [
        each for each in hall.topology.source_readers.values() if each.scan == scan("s")
    ]
    assert (source_reader.rows, source_reader.meter.rows, source_reader.number) == (3, 3, 1)


def test_in_a_drain_no_source_is_read_that_may_take_long(hall: Hall) -> None:
    hall.add("a", scan("s"))
    hall.push("s", 1)
    hall.source_poller.start_pushed(hall.clock.now())
    assert waiting(hall, "s") == 0
    hall.take_in()
    assert waiting(hall, "s") == 1
