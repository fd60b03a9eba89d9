import threading
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.engine.sinks.sink import Delivery
from penstock.errors import SparkDiedError
from penstock.runtime.durable.result_index import ResultIndex
from penstock.runtime.durable.result_row import START, Position
from penstock.runtime.durable.results import ResultLog
from penstock.runtime.work.subscription import Subscription

FILE = 4096
DELIVER = st.tuples(st.just("deliver"), st.integers(0, 4))
AGAIN = st.tuples(st.just("again"), st.integers(1, 8))
SUBSCRIBE = st.tuples(
    st.just("subscribe"), st.one_of(st.none(), st.integers(-1, 25)), st.integers(1, 6)
)
READ = st.tuples(st.just("read"), st.integers(0, 3), st.integers(1, 5))
STEPS = st.lists(st.one_of(DELIVER, AGAIN, SUBSCRIBE, READ), max_size=40)


def result_index(directory: Path) -> ResultIndex:
    return ResultIndex(directory / "shelf.db")


def delivery(number: int, rows: int) -> Delivery:
    return Delivery("query", number, pa.table({"at": [f"{number}.{i}" for i in range(rows)]}))


@dataclass(frozen=True, slots=True)
class Reader:
    subscription: Subscription
    found: list[Position]
    after: Position | None
    came_at: int  # deliveries there were


class Play:
    """Plays steps on a log and its readers, and knows what each of them has to see."""

    def __init__(self, directory: Path, keep: int) -> None:
        self.log = ResultLog(directory, "query", result_index(directory), keep_bytes=keep * FILE)
        self.sizes: list[int] = []
        self.readers: list[Reader] = []

    def deliver(self, size: int) -> None:
        self.sizes.append(size)
        self.again(len(self.sizes))

    def again(self, number: int) -> None:
        if number <= len(self.sizes):
            made = delivery(number, self.sizes[number - 1])
            self.log.append(made)
            for reader in self.readers:
                if reader.after is not None or number > reader.came_at:
                    reader.subscription.deliver(made)

    def subscribe(self, seen: int | None, max_rows: int) -> None:
        after = None
        if seen is not None:
            rows = self.rows_from(1)
            after = rows[seen] if 0 <= seen < len(rows) else START
        subscription = Subscription("query", log=self.log, after=after, max_rows=max_rows)
        self.readers.append(Reader(subscription, [], after, len(self.sizes)))

    def read(self, reader: int, count: int) -> None:
        if reader < len(self.readers):
            for _ in range(count):
                if (row := self.readers[reader].subscription.next(timeout=0)) is not None:
                    assert row["at"] == "{}.{}".format(*row.position)
                    self.readers[reader].found.append(row.position)

    def finish(self) -> None:
        for reader in self.readers:
            reader.subscription.end()
            reader.found.extend(row.position for row in reader.subscription)

    def rows_from(self, number: int) -> list[Position]:
        return [(n, i) for n, size in enumerate(self.sizes, 1) for i in range(size) if n >= number]

    def wanted(self, reader: Reader) -> list[Position]:
        if reader.after is None:
            return self.rows_from(reader.came_at + 1)
        return [row for row in self.rows_from(1) if row > reader.after]


def played(steps: list[tuple[str, int]], directory: str, keep: int) -> Play:
    play = Play(Path(directory), keep)
    for name, *details in steps:
        getattr(play, name)(*details)
    play.finish()
    return play


@given(STEPS)
@settings(deadline=None)
def test_no_row_comes_twice_and_none_is_lost_after_a_position(steps: list[tuple[str, int]]) -> None:
    with TemporaryDirectory() as directory:
        play = played(steps, directory, keep=1000)
    for reader in play.readers:
        if reader.after is not None:
            assert reader.found == play.wanted(reader)
            assert reader.subscription.left_out == 0
        assert_accounted_for(reader, play.wanted(reader))


@given(STEPS, st.integers(1, 4))
@settings(deadline=None)
def test_what_even_the_log_has_no_more_is_counted(steps: list[tuple[str, int]], keep: int) -> None:
    with TemporaryDirectory() as directory:
        play = played(steps, directory, keep)
    for reader in play.readers:
        assert_accounted_for(reader, play.wanted(reader))


def assert_accounted_for(reader: Reader, wanted: list[Position]) -> None:
    assert reader.found == sorted(set(reader.found))
    assert set(reader.found) <= set(wanted)
    assert len(reader.found) + reader.subscription.left_out == len(wanted)
    assert reader.subscription.gap is None


def test_readers_that_come_while_another_thread_delivers_miss_nothing(tmp_path: Path) -> None:
    log, lock = ResultLog(tmp_path, "query", result_index(tmp_path)), threading.Lock()
    sizes = [number % 4 for number in range(1, 301)]
    wanted = [(n, i) for n, size in enumerate(sizes, start=1) for i in range(size)]
    subscriptions: list[Subscription] = []

    def produce() -> None:
        for number, size in enumerate(sizes, start=1):
            with lock:
                log.append(delivery(number, size))
                for subscription in subscriptions:
                    subscription.deliver(delivery(number, size))

    def consume(mine: list[Position]) -> None:
        after = START
        while len(mine) < len(wanted):  # resumes every 40 rows, as after a broken connection
            with lock:
                subscription = Subscription("query", log=log, after=after, max_rows=10)
                subscriptions.append(subscription)
            mine += [row.position for row in islice(subscription, min(40, len(wanted) - len(mine)))]
            after = subscription.position
            subscription.close()

    found: list[list[Position]] = [[] for _ in range(6)]
    threads = [threading.Thread(target=consume, args=(mine,)) for mine in found]
    threads.append(threading.Thread(target=produce))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [wanted] * 6


def test_a_delivery_that_came_before_a_crash_comes_once_after_it(tmp_path: Path) -> None:
    ResultLog(tmp_path, "query", result_index(tmp_path)).append(delivery(1, 2))
    log = ResultLog(tmp_path, "query", result_index(tmp_path))
    subscription = Subscription("query", log=log, after=(1, 0))
    for again in (delivery(1, 2), delivery(2, 1)):
        log.append(again)
        subscription.deliver(again)
    subscription.end()
    assert [row.position for row in subscription] == [(1, 1), (2, 0)]


@pytest.mark.parametrize("logged", [True, False])
def test_a_reader_gets_what_came_before_everything_stopped_and_then_why(
    tmp_path: Path, logged: bool
) -> None:
    log = ResultLog(tmp_path, "query", result_index(tmp_path))
    subscription = Subscription("query", log=log, after=START if logged else None)
    first = delivery(1, 2)
    log.append(first)
    subscription.deliver(first)
    subscription.fail(SparkDiedError("Spark has died"))
    assert [row.as_dict()["at"] for row in islice(subscription, 2)] == ["1.0", "1.1"]
    for _ in range(2):
        with pytest.raises(SparkDiedError):
            subscription.next()
    subscription.close()
    assert subscription.next() is None
