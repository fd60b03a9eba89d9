import threading
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pytest

from penstock.engine.sinks.sink import Delivery
from penstock.errors import BadOptionError
from penstock.runtime.durable.result_index import ResultIndex
from penstock.runtime.durable.result_row import START, Position
from penstock.runtime.durable.results import ResultLog
from penstock.runtime.work.subscription import Subscription

SIZES = [3, 1, 4, 1, 5]
FILE = 4096


def result_index(directory: Path) -> ResultIndex:
    return ResultIndex(directory / "shelf.db")


def delivery(number: int, rows: int) -> Delivery:
    return Delivery("query", number, pa.table({"at": [f"{number}.{i}" for i in range(rows)]}))


def deliver(subscription: Subscription, sizes: list[int] = SIZES) -> None:
    for number, rows in enumerate(sizes, start=1):
        subscription.deliver(delivery(number, rows))


def logged(
    directory: Path, sizes: list[int] = SIZES, *, keep: int = 1000, **bounds: int
) -> ResultLog:
    log = ResultLog(directory, "query", result_index(directory), keep_bytes=keep * FILE, **bounds)
    for number, rows in enumerate(sizes, start=1):
        log.append(delivery(number, rows))
    return log


def positions(sizes: Iterable[int] = SIZES) -> list[Position]:
    return [(number, i) for number, rows in enumerate(sizes, start=1) for i in range(rows)]


def drained(subscription: Subscription) -> list[Position]:
    """Return what waits, checking that each row is the one its position says."""
    found = []
    while (row := subscription.next(timeout=0)) is not None:
        assert row["at"] == "{}.{}".format(*row.position)
        assert row.query == "query"
        assert subscription.position == row.position
        found.append(row.position)
    return found


def test_rows_come_in_order_with_their_positions() -> None:
    subscription = Subscription("query")
    deliver(subscription)
    assert drained(subscription) == positions()
    assert subscription.left_out == 0


def test_more_rows_than_are_converted_at_a_time_come_in_order() -> None:
    subscription = Subscription("query")
    deliver(subscription, [2500, 1030])
    assert drained(subscription) == positions([2500, 1030])


def test_iteration_stops_after_the_rest_once_the_query_has_ended() -> None:
    subscription = Subscription("query")
    deliver(subscription)
    subscription.end()
    assert not subscription.ended
    assert [row.position for row in subscription] == positions()
    assert subscription.ended


def test_iteration_stops_at_once_when_it_is_closed() -> None:
    with Subscription("query") as subscription:
        deliver(subscription)
        assert next(subscription).position == (1, 0)
    assert subscription.closed
    assert subscription.ended
    assert list(subscription) == []
    deliver(subscription)


def test_nothing_comes_in_time() -> None:
    assert Subscription("query").next(timeout=0.001) is None


def test_a_reader_that_waits_gets_what_another_thread_delivers() -> None:
    subscription = Subscription("query")
    found: list[Position] = []
    reader = threading.Thread(target=lambda: found.extend(row.position for row in subscription))
    reader.start()
    deliver(subscription)
    subscription.end()
    reader.join()
    assert found == positions()


def test_a_reader_that_waits_is_freed_when_another_thread_closes() -> None:
    subscription = Subscription("query")
    reader = threading.Thread(target=lambda: list(subscription))
    reader.start()
    subscription.close()
    reader.join(timeout=300)
    assert not reader.is_alive()


def test_a_slow_reader_keeps_the_newest_rows_and_the_count_of_the_others() -> None:
    subscription = Subscription("query", max_rows=7)
    deliver(subscription)
    assert subscription.left_out == 7
    assert drained(subscription) == positions()[-7:]


def test_one_delivery_above_the_bound_keeps_its_newest_rows() -> None:
    subscription = Subscription("query", max_rows=2)
    deliver(subscription, [5])
    assert drained(subscription) == [(1, 3), (1, 4)]
    assert subscription.left_out == 3


def test_a_delivery_again_gives_no_row_twice() -> None:
    subscription = Subscription("query")
    deliver(subscription, [2, 3])
    assert drained(subscription) == positions([2, 3])
    deliver(subscription, [2, 3, 1])
    assert drained(subscription) == [(3, 0)]


def test_deliveries_without_rows_are_passed_over(tmp_path: Path) -> None:
    sizes = [0, 2, 0, 0, 1, 0]
    live = Subscription("query")
    deliver(live, sizes)
    live.end()
    assert drained(live) == positions(sizes)
    assert live.ended
    late = Subscription("query", log=logged(tmp_path, sizes), after=START)
    late.end()
    assert drained(late) == positions(sizes)
    assert late.ended


def test_tables_come_one_a_delivery() -> None:
    subscription = Subscription("query")
    deliver(subscription)
    subscription.end()
    assert list(subscription.tables()) == [
        delivery(number, rows).rows for number, rows in enumerate(SIZES, start=1)
    ]
    assert subscription.position == (5, 4)


def test_tables_begin_where_rows_were_left() -> None:
    subscription = Subscription("query")
    deliver(subscription, [4])
    assert next(subscription).position == (1, 0)
    assert [table["at"].to_pylist() for table in subscription.tables(timeout=0)] == [
        ["1.1", "1.2", "1.3"]
    ]
    assert subscription.position == (1, 3)
    subscription.deliver(delivery(2, 1))
    assert drained(subscription) == [(2, 0)]


def test_the_log_gives_everything_from_the_start(tmp_path: Path) -> None:
    subscription = Subscription("query", log=logged(tmp_path), after=START)
    assert drained(subscription) == positions()


@pytest.mark.parametrize("seen", range(len(positions())))
def test_a_reader_resumes_after_any_position(tmp_path: Path, seen: int) -> None:
    after = positions()[seen]
    log = logged(tmp_path)
    subscription = Subscription("query", log=log, after=after)
    subscription.deliver(delivery(6, 2))
    assert drained(subscription) == [*positions()[seen + 1 :], (6, 0), (6, 1)]
    assert (subscription.left_out, subscription.gap) == (0, None)


def test_a_position_ahead_of_the_log_skips_what_was_seen(tmp_path: Path) -> None:
    log = ResultLog(tmp_path, "query", result_index(tmp_path))
    subscription = Subscription("query", log=log, after=(2, 0))
    deliver(subscription)
    assert drained(subscription) == positions()[4:]


def test_what_came_between_two_looks_at_the_log_is_read(tmp_path: Path) -> None:
    log = logged(tmp_path, SIZES[:2])
    subscription = Subscription("query", log=log, after=START)
    log.append(delivery(3, SIZES[2]))  # by somebody who does not know the subscription yet
    subscription.look()
    subscription.deliver(delivery(3, SIZES[2]))
    subscription.end()
    assert drained(subscription) == positions(SIZES[:3])


def test_a_slow_reader_with_a_log_loses_nothing(tmp_path: Path) -> None:
    log = ResultLog(tmp_path, "query", result_index(tmp_path))
    subscription = Subscription("query", log=log, after=START, max_rows=2)
    for number, rows in enumerate(SIZES, start=1):
        log.append(delivery(number, rows))
        subscription.deliver(delivery(number, rows))
    assert drained(subscription) == positions()
    assert (subscription.left_out, subscription.gap) == (0, None)


def test_what_the_log_has_no_more_is_counted(tmp_path: Path) -> None:
    log = logged(tmp_path, keep=2)
    subscription = Subscription("query", log=log, after=(1, 0))
    assert drained(subscription) == positions()[-6:]
    assert subscription.left_out == 2 + 1 + 4
    assert subscription.gap is None


def test_what_the_log_has_no_more_and_cannot_count_is_told(tmp_path: Path) -> None:
    logged(tmp_path, keep=2, remembered=0)
    reopened = ResultLog(tmp_path, "query", result_index(tmp_path))
    subscription = Subscription("query", log=reopened, after=(1, 0))
    assert drained(subscription) == positions()[-6:]
    assert (subscription.left_out, subscription.gap) == (0, range(1, 4))


def test_a_bound_below_one_is_refused() -> None:
    with pytest.raises(BadOptionError) as caught:
        Subscription("query", max_rows=0)
    assert caught.value.code == "BAD_OPTION"
