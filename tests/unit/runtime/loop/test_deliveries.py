import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.engine.sinks.callback import CallbackSink
from penstock.engine.sinks.sink import Delivery
from penstock.engine.trains.buffers import BufferBounds
from penstock.errors import SinkError
from penstock.model.definitions import QueryState
from penstock.runtime.work.live_query import RETRY_SECONDS, LiveQuery
from penstock.runtime.work.run_limits import RunLimits
from penstock.runtime.work.subscription import Subscription
from tests.unit.model.arrow_twin import arrow_without_spark
from tests.unit.model.hall import DeathError, Hall, chain, scan


@pytest.fixture(scope="module", autouse=True)
def no_spark() -> Iterator[None]:
    with arrow_without_spark():
        yield


@pytest.fixture
def hall(tmp_path: Path) -> Hall:
    return Hall(tmp_path / "home")


class Stubborn:
    """A sink that refuses so often, then takes everything."""

    repeatable = True

    def __init__(self, refusals: int, error: type[Exception] = SinkError) -> None:
        self.refusals, self.error = refusals, error
        self.written: list[tuple[int, list[int]]] = []
        self.opened = self.closed = 0

    def open(self) -> None:
        self.opened += 1

    def write(self, delivery: Delivery) -> None:
        if self.refusals:
            self.refusals -= 1
            raise self.error("no")
        self.written.append((delivery.number, delivery.rows["n"].to_pylist()))

    def close(self) -> None:
        self.closed += 1


@given(st.lists(st.integers(0, 3), max_size=8), st.integers(1, 9), st.integers(1, 4))
@settings(deadline=None)
def test_deliveries_are_numbered_without_gaps_and_have_all_rows_in_order(
    sizes: list[int], limit: int, at_a_time: int
) -> None:
    with tempfile.TemporaryDirectory() as home:
        hall = Hall(Path(home) / "home", limits=RunLimits(delivery_rows=limit))
        hall.add("a", scan("s"))
        given_: list[int] = []
        for place, size in enumerate(sizes):
            hall.push("s", *(rows := range(place * 10, place * 10 + size)))
            given_ += rows
            if place % at_a_time == 0:
                hall.step()
        hall.drain()
        held = hall.sinks["a"].deliveries
        assert sorted(held) == list(range(1, len(held) + 1))
        assert all(table.num_rows for table in held.values())
        assert hall.delivered("a") == given_
        assert hall.journal.last_delivery("query:a") == len(held)
        assert hall.journal.delivered_rows("query:a") == len(given_)


def test_what_is_delivered_is_in_the_journal_before_it_is_handed_over(hall: Hall) -> None:
    hall.add("a", scan("s"))
    hall.push("s", 1)
    hall.take_in()
    hall.pool.dies = "before"
    with pytest.raises(DeathError):
        hall.deliver()
    assert [run.number for run in hall.journal.runs_after("query:a", 0)] == [1]
    assert hall.sinks["a"].deliveries == {}


def test_trains_without_rows_are_passed_over_and_not_remembered(hall: Hall) -> None:
    hall.add("a", scan("s"))
    hall.push("s")
    hall.drain()
    assert hall.journal.runs_after("query:a", 0) == []
    assert hall.sinks["a"].deliveries == {}
    buffer = hall.topology.buffers.get(hall.topology.queries["a"].input)
    assert buffer is not None
    assert buffer.readers() == {"query:a": 1}


def test_the_end_finishes_a_query_and_its_subscribers(hall: Hall) -> None:
    query = hall.add("a", chain("s", "x"))
    subscription = Subscription("a")
    query.subscriptions.append(subscription)
    hall.push("s", 1)
    hall.end("s")
    hall.drain()
    assert hall.states["a"] is QueryState.FINISHED
    assert [row["n"] for row in subscription] == [1]
    assert subscription.ended


def test_who_subscribes_while_a_sink_delivers_is_not_forgotten(hall: Hall) -> None:
    query = hall.add("a", scan("s"))
    second = Subscription("a")

    class Asked(Subscription):
        @property
        def closed(self) -> bool:
            if second not in query.subscriptions:
                query.subscriptions.append(second)
            return super().closed

    query.subscriptions.append(Asked("a"))
    hall.push("s", 1)
    hall.drain()
    assert second in query.subscriptions


@pytest.mark.parametrize("error", [SinkError, OSError])
def test_a_sink_that_refuses_a_few_times_is_tried_again(hall: Hall, error: type[Exception]) -> None:
    query = hall.add("a", scan("s"))
    sink = Stubborn(len(RETRY_SECONDS), error)
    query.sinks = [sink]
    hall.push("s", 1)
    began = hall.clock.now()
    hall.take_in()
    hall.deliver()
    assert sink.written == [(1, [1])]
    assert hall.states["a"] is QueryState.RUNNING
    assert hall.clock.now() - began == pytest.approx(sum(RETRY_SECONDS))


@pytest.mark.parametrize("error", [SinkError, OSError])
def test_a_sink_that_goes_on_refusing_holds_its_query_alone_until_it_is_resumed(
    hall: Hall, error: type[Exception]
) -> None:
    query = hall.add("a", scan("s"))
    hall.add("b", scan("s"))
    sink = Stubborn(len(RETRY_SECONDS) + 1, error)
    query.sinks = [sink]
    hall.push("s", 1)
    hall.drain()
    hall.push("s", 2)
    hall.drain()
    assert hall.states["a"] is QueryState.FAILED
    assert query.cause.startswith("SINK_FAILED")
    assert hall.delivered("b") == [1, 2]
    assert sink.written == []
    hall.topology.resume(query)
    hall.drain()
    assert sink.written == [(1, [1]), (2, [2])]


def test_what_waits_for_a_sink_is_bounded_and_its_query_says_what_it_missed(
    tmp_path: Path,
) -> None:
    hall = Hall(tmp_path / "home", bounds=BufferBounds(queue_bytes=100))
    query = hall.add("a", scan("s"))
    hall.add("b", scan("s"))
    sink = Stubborn(len(RETRY_SECONDS) + 1)
    query.sinks = [sink]
    for number in range(40):
        hall.push("s", number)
        hall.drain()
    buffer = hall.topology.buffers.get(query.input)
    assert buffer is not None
    waiting = buffer.waiting(query.reader)
    assert sum(train.info.size for train in waiting) <= 100
    assert hall.states["a"] is QueryState.FAILED
    assert "its sink is too slow" in query.cause
    assert "rows that waited for it were left out" in query.cause
    assert hall.delivered("b") == list(range(40))
    hall.topology.resume(query)
    hall.push("s", 40)
    hall.drain()
    kept = [number for _, numbers in sink.written for number in numbers]
    assert kept == list(range(41))[-len(kept) :]
    assert hall.states["a"] is QueryState.RUNNING


def test_a_delivery_under_way_keeps_its_trains_until_it_has_them_in_hand(tmp_path: Path) -> None:
    hall = Hall(tmp_path / "home", bounds=BufferBounds(queue_bytes=20))
    query = hall.add("a", scan("s"))
    hall.deliveries.under_way.add(query.reader)
    for number in range(10):
        hall.push("s", number)
        hall.drain()
    buffer = hall.topology.buffers.get(query.input)
    assert buffer is not None
    assert len(buffer.waiting(query.reader)) == 10
    query.in_hand = True
    hall.deliver()
    assert buffer.waiting(query.reader) == []
    assert hall.states["a"] is QueryState.FAILED


def test_a_sink_is_opened_once_and_closed_when_its_query_ends(hall: Hall) -> None:
    query = hall.add("a", scan("s"))
    sink = Stubborn(0)
    query.sinks = [sink]
    for number in range(3):
        hall.push("s", number)
        hall.drain()
    assert (sink.opened, sink.closed) == (1, 0)
    hall.end("s")
    hall.drain()
    assert (sink.opened, sink.closed) == (1, 1)


@pytest.mark.parametrize("repeatable", [False, True])
def test_after_a_death_only_sinks_that_can_repeat_see_a_delivery_again(
    hall: Hall, repeatable: bool
) -> None:
    seen: list[tuple[int, list[int]]] = []

    def call(rows: pa.Table, number: int) -> None:
        seen.append((number, rows["n"].to_pylist()))

    sink = CallbackSink(call, repeatable=repeatable)
    hall.add("a", scan("s")).sinks.append(sink)
    hall.push("s", 1)
    hall.drain()
    hall.die()
    hall.topology.queries["a"].sinks.append(sink)
    hall.push("s", 2)
    hall.drain()
    first = [(1, [1])]
    assert seen == [*first, *(first if repeatable else []), (2, [2])]


def test_taps_see_each_delivery_once_also_over_a_death(hall: Hall) -> None:
    seen: list[int] = []
    hall.deliveries.taps.append(lambda delivery: seen.append(delivery.number))
    hall.add("a", scan("s"))
    hall.push("s", 1)
    hall.drain()
    hall.die()
    hall.deliveries.taps.append(lambda delivery: seen.append(delivery.number))
    hall.push("s", 2)
    hall.drain()
    assert seen == [1, 2]


def test_the_latency_of_a_delivery_is_counted_from_its_arrival(hall: Hall) -> None:
    query = hall.add("a", scan("s"))
    hall.push("s", 1, 2)  # at place one of the script, so it arrived at second one
    hall.take_in()
    hall.clock.sleep(5)
    hall.deliver()
    assert query.meter.rows == 2
    took = pytest.approx(hall.clock.now() - 1.0, rel=0.03)
    now = hall.clock.now()
    assert query.meter.latencies.quantile(0.5, now) == query.meter.delays.quantile(0.5, now) == took


def test_the_delay_of_what_came_before_its_query_counts_from_the_query(hall: Hall) -> None:
    query = hall.add("a", scan("s"))
    hall.push("s", 1)
    hall.take_in()
    hall.clock.sleep(100)
    query.since = hall.clock.now()
    hall.clock.sleep(5)
    hall.deliver()
    now = hall.clock.now()
    assert query.meter.delays.quantile(0.5, now) == pytest.approx(5.0, rel=0.03)
    assert query.meter.latencies.quantile(0.5, now) == pytest.approx(now - 1.0, rel=0.03)


def test_a_delivery_that_is_repeated_after_a_death_is_not_timed_again(hall: Hall) -> None:
    hall.add("a", scan("s"))
    hall.push("s", 1)
    hall.drain()
    hall.clock.sleep(3600)
    hall.die()
    hall.push("s", 2)
    hall.drain()
    query = hall.topology.queries["a"]
    assert (query.meter.rows, query.meter.timed_rows) == (2, 1)


def test_a_query_that_is_held_delivers_nothing(hall: Hall) -> None:
    query = hall.add("a", scan("s"))
    hall.topology.set_state(query, QueryState.FAILED, "no")
    hall.push("s", 1)
    hall.drain()
    assert hall.delivered("a") == []


def test_numbers_go_on_when_a_query_of_the_same_name_comes_again(hall: Hall) -> None:
    for number in (1, 2, 3):
        hall.add("a", chain("s", "x" * number))
        hall.push("s", number)
        hall.drain()
        assert list(hall.sinks["a"].deliveries) == [number]
        hall.drop("a")


def without_sinks(hall: Hall, *names: str) -> list[LiveQuery]:
    queries = [hall.add(name, scan("s")) for name in names]
    for query in queries:
        query.sinks = []
    return queries


def logged(query: LiveQuery) -> list[tuple[int, list[int]]]:
    return [(each.number, each.rows["n"].to_pylist()) for each in query.log.read_after(0)]


def test_queries_without_sinks_are_delivered_by_one_worker_and_others_by_their_own(
    hall: Hall,
) -> None:
    light = without_sinks(hall, "a", "b", "c")
    hall.add("d", scan("s"))
    hall.push("s", 1, 2)
    hall.take_in()
    hall.pool.submitted.clear()
    hall.deliver()
    assert hall.pool.submitted == ["query:a", "sink:query:d"]
    assert [logged(query) for query in light] == [[(1, [1, 2])]] * 3
    assert hall.delivered("d") == [1, 2]
    assert [hall.journal.last_delivery(f"query:{name}") for name in "abcd"] == [1, 1, 1, 1]


def test_a_large_delivery_keeps_none_of_the_small_ones_waiting(tmp_path: Path) -> None:
    hall = Hall(tmp_path / "home", limits=RunLimits(light_rows=2))
    without_sinks(hall, "a", "b")
    hall.push("s", 1, 2, 3)
    hall.take_in()
    hall.pool.submitted.clear()
    hall.deliver()
    assert hall.pool.submitted == ["query:a", "query:b"]


def test_a_tap_that_raises_holds_the_query_that_it_looked_at_and_no_other(hall: Hall) -> None:
    refuses = True

    def tap(delivery: Delivery) -> None:
        if delivery.query == "b" and refuses:
            raise RuntimeError("not this one")

    hall.deliveries.taps.append(tap)
    a, b, c = without_sinks(hall, "a", "b", "c")
    hall.push("s", 1)
    hall.drain()
    hall.push("s", 2)
    hall.drain()
    assert hall.states["b"] is QueryState.FAILED
    assert logged(a) == logged(c) == [(1, [1]), (2, [2])]
    assert hall.journal.last_delivery("query:b") == 0
    refuses = False
    hall.topology.resume(b)
    hall.drain()
    assert logged(b) == [(1, [1]), (2, [2])]


@pytest.mark.parametrize("dies", ["before", "after"])
def test_a_death_among_many_loses_and_doubles_nothing(hall: Hall, dies: str) -> None:
    seen: list[tuple[str, int]] = []
    hall.deliveries.taps.append(lambda each: seen.append((each.query, each.number)))
    without_sinks(hall, "a", "b", "c")
    hall.push("s", 1)
    hall.take_in()
    hall.pool.dies = dies
    with pytest.raises(DeathError):
        hall.deliver()
    hall.die()
    hall.deliveries.taps.append(lambda each: seen.append((each.query, each.number)))
    for query in hall.topology.queries.values():
        query.sinks = []
    hall.push("s", 2)
    hall.drain()
    assert [logged(query) for query in hall.topology.queries.values()] == [[(1, [1]), (2, [2])]] * 3
    assert sorted(seen) == [(name, number) for name in "abc" for number in (1, 2)]


def test_a_checkpoint_between_a_delivery_and_its_end_doubles_nothing(hall: Hall) -> None:
    query = hall.add("a", scan("s"))
    hall.push("s", 1)
    hall.take_in()
    hall.pool.dies = "after"
    with pytest.raises(DeathError):
        hall.deliver()
    assert query.meter.rows == 1  # the worker has done it all
    hall.pool.dies = ""
    hall.checkpoint()  # it waits for no sink, nor for what a sink has just done
    hall.die()
    hall.push("s", 2)
    hall.drain()
    assert hall.delivered("a") == [1, 2]
    (again,) = hall.topology.queries.values()
    assert logged(again) == [(1, [1]), (2, [2])]
    assert again.meter.rows == again.rows_settled == 2


def test_before_a_checkpoint_only_what_goes_to_no_sink_is_handed_over(hall: Hall) -> None:
    (a,) = without_sinks(hall, "a")
    hall.add("b", scan("s"))
    hall.push("s", 1)
    hall.take_in()
    hall.deliveries.start_light()
    assert logged(a) == [(1, [1])]
    assert hall.delivered("b") == []
    hall.deliver()
    assert hall.delivered("b") == [1]


def test_a_query_that_comes_when_all_is_over_ends_at_once(hall: Hall) -> None:
    hall.add("a", chain("s", "x"))
    hall.end("s")
    hall.take_in()
    hall.turn()
    hall.add("b", chain("s", "x"))
    hall.drain()
    assert hall.states == {"a": QueryState.FINISHED, "b": QueryState.FINISHED}
