"""How a change re-connects the topology: nothing is lost, nothing comes twice, whatever is cut."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from penstock.model.definitions import QueryState
from penstock.model.trains import BEGIN_OF_TIME
from penstock.plan.operators import EventTime, Operator, Project, Union, WindowAggregate, key
from penstock.plan.operators.windows.window_assigner import spans
from penstock.runtime.sources.source_reader import PATIENCE
from penstock.runtime.work.run_limits import RunLimits
from tests.examples import examples
from tests.unit.model.arrow_twin import arrow_without_spark
from tests.unit.model.hall import SCHEMA, DeathError, Hall, chain, scan

LABELS = st.text("xyz", max_size=4)
STREAMS = ("s", "t")


@pytest.fixture(scope="module", autouse=True)
def no_spark() -> Iterator[None]:
    with arrow_without_spark():
        yield


@pytest.fixture
def hall(tmp_path: Path) -> Hall:
    return Hall(tmp_path / "home", STREAMS)


def united(one: Operator, two: Operator) -> Operator:
    return Union((one, two), SCHEMA, (EventTime("ts"),))


def root_of(one: str, two: str | None) -> Operator:
    return chain("s", one) if two is None else united(chain("s", one), chain("t", two))


class Recutting(RuleBasedStateMachine):
    """Queries come and go over two streams that never stand still, and the process dies."""

    limits = RunLimits()

    def __init__(self) -> None:
        super().__init__()
        self.directory = Path(tempfile.mkdtemp())
        self.hall = Hall(self.directory / "home", STREAMS, limits=self.limits)
        self.number = 0
        self.began: dict[str, dict[str, int]] = {}  # where a query may have begun, at the latest

    def teardown(self) -> None:
        try:
            self.everything_arrives()
        finally:
            shutil.rmtree(self.directory)

    @rule(stream=st.sampled_from(STREAMS), size=st.integers(0, 3))
    def push(self, stream: str, size: int) -> None:
        self.hall.push(stream, *range(self.number, self.number + size))
        self.number += size

    @rule()
    def take_in(self) -> None:
        self.hall.clock.sleep(2)
        self.hall.take_in()

    @rule()
    def turn(self) -> None:
        self.hall.turn()

    @rule()
    def deliver(self) -> None:
        self.hall.deliver()

    @rule(one=LABELS, two=st.none() | LABELS)
    def add(self, one: str, two: str | None) -> None:
        self.hall.add(self.new_name(), root_of(one, two))

    @rule(one=LABELS, two=st.none() | LABELS)
    def die_while_adding(self, one: str, two: str | None) -> None:
        self.hall.catch_up()
        self.hall.remember(self.new_name(), root_of(one, two))
        self.hall.die()

    def new_name(self) -> str:
        name = f"q{len(self.began)}"
        self.began[name] = {stream: len(rows) for stream, rows in self.hall.pushed.items()}
        return name

    @precondition(lambda self: self.hall.roots)
    @rule(data=st.data())
    def drop(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.hall.roots)))
        self.hall.drop(name)

    @precondition(lambda self: self.hall.roots)
    @rule(data=st.data())
    def die_while_dropping(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.hall.roots)))
        del self.hall.roots[name]
        self.hall.die()

    @precondition(lambda self: self.hall.topology.units)
    @rule(data=st.data())
    def fail(self, data: st.DataObject) -> None:
        """Let a unit fail from now on; the queries that need it are held."""
        self.hall.processor.fails.add(data.draw(st.sampled_from(sorted(self.hall.topology.units))))

    @rule()
    def resume(self) -> None:
        self.hall.processor.fails.clear()
        for query in list(self.hall.topology.queries.values()):
            if query.state is QueryState.FAILED:
                self.hall.topology.resume(query)

    @rule()
    def checkpoint(self) -> None:
        self.hall.checkpoint()

    @rule()
    def die(self) -> None:
        self.hall.die()

    @rule()
    def die_and_find_the_last_checkpoint_damaged(self) -> None:
        self.hall.die(older=True)

    @rule(
        when=st.sampled_from(["before", "after"]),
        what=st.sampled_from(["take_in", "turn", "deliver"]),
    )
    def die_at_work(self, when: str, what: str) -> None:
        self.hall.pool.dies = when
        try:
            getattr(self.hall, what)()
        except DeathError:
            self.hall.die()
        self.hall.pool.dies = ""

    @invariant()
    def nobody_gets_anything_twice_or_out_of_order(self) -> None:
        for name in self.hall.roots:
            for stream in STREAMS:
                mine = self.from_stream(name, stream)
                pushed = self.hall.pushed[stream]
                if mine:
                    start = pushed.index(mine[0])
                    assert mine == pushed[start : start + len(mine)]
                    assert start <= self.began[name][stream]

    def everything_arrives(self) -> None:
        self.hall.pool.dies = ""
        self.resume()
        self.hall.drain()
        for name, root in self.hall.roots.items():
            for stream in STREAMS:
                if reads(root, stream):
                    after = self.hall.pushed[stream][self.began[name][stream] :]
                    mine = self.from_stream(name, stream)
                    assert mine[len(mine) - len(after) :] == after

    def from_stream(self, name: str, stream: str) -> list[int]:
        own = set(self.hall.pushed[stream])
        return [n for n in self.hall.delivered(name) if n in own]


def reads(root: Operator, stream: str) -> bool:
    return root == scan(stream) or any(reads(each, stream) for each in root.inputs)


Recutting.TestCase.settings = settings(
    deadline=None, max_examples=examples(60), stateful_step_count=40
)
test_cutting_anew_and_dying_lose_and_repeat_nothing = Recutting.TestCase


class RecuttingFiles(Recutting):
    """The same where every train that has rows goes to files, several of them."""

    limits = RunLimits(large_rows=0)

    @invariant()
    def there_are_no_files_but_those_of_trains(self) -> None:
        held = [train.rows for each in self.hall.topology.buffers for train in each.held()]
        assert all(rows.table is None or not rows.count for rows in held if rows.in_order)
        spill = self.hall.home / "spill"
        found = set(spill.iterdir()) if spill.exists() else set()
        assert found == {path for rows in held for path in rows.paths if path.parent == spill}


RecuttingFiles.TestCase.settings = settings(
    deadline=None, max_examples=examples(20), stateful_step_count=40
)
test_trains_in_files_are_neither_lost_nor_repeated_nor_left_behind = RecuttingFiles.TestCase


# -- places, promises and states that go over ------------------------------------------------


def at(hall: Hall, source: Operator, root: Operator) -> int:
    """Return how far the unit of a root has read the trains of a source."""
    buffer = hall.topology.buffers.get(key(source))
    assert buffer is not None
    return buffer.readers()[f"unit:{key(root)}"]


def test_a_part_that_is_cut_out_goes_on_where_the_whole_stood(hall: Hall) -> None:
    whole, part = chain("s", "xy"), chain("s", "x")
    hall.add("a", whole)
    hall.push("s", 1)
    hall.drain()
    hall.push("s", 2)
    hall.take_in()
    assert at(hall, scan("s"), whole) == 1
    hall.add("b", part)
    assert at(hall, scan("s"), part) == 1
    assert at(hall, part, whole) == 0
    assert f"unit:{key(whole)}" not in hall.topology.buffers.open(key(scan("s")), SCHEMA).readers()
    hall.drain()
    assert (hall.delivered("a"), hall.delivered("b")) == ([1, 2], [2])


def test_the_output_of_a_unit_that_is_cut_anew_goes_on_being_numbered(hall: Hall) -> None:
    whole = chain("s", "xy")
    hall.add("a", whole)
    hall.push("s", 1)
    hall.drain()
    hall.add("b", chain("s", "x"))
    hall.push("s", 2)
    hall.drain()
    buffer = hall.topology.buffers.get(key(whole))
    assert buffer is not None
    assert (hall.topology.units[key(whole)].runs, buffer.written) == (2, 2)


def test_a_new_query_begins_with_the_next_train(hall: Hall) -> None:
    hall.add("a", chain("s", "x"))
    hall.push("s", 1, 2)
    hall.drain()
    hall.add("b", chain("s", "y"))
    hall.add("c", chain("s", "x"))
    hall.push("s", 3)
    hall.drain()
    assert (hall.delivered("b"), hall.delivered("c")) == ([3], [3])


def test_what_only_a_dropped_query_needed_goes(hall: Hall) -> None:
    hall.add("a", chain("s", "xy"))
    hall.add("b", chain("s", "x"))
    hall.push("s", 1)
    hall.drain()
    hall.drop("a")
    assert set(hall.topology.units) == {key(chain("s", "x"))}
    assert hall.topology.buffers.get(key(chain("s", "xy"))) is None
    shared = hall.topology.buffers.get(key(chain("s", "x")))
    assert shared is not None
    assert set(shared.readers()) == {"query:b"}
    hall.drop("b")
    assert hall.topology.units == {}
    source = hall.topology.buffers.get(key(scan("s")))
    assert source is not None
    assert source.readers() == {}


def test_the_journal_forgets_a_dropped_query_so_that_it_may_come_again(hall: Hall) -> None:
    for number in range(3):
        hall.add("a", chain("s", "x"))
        hall.push("s", number)
        hall.drain()
        assert hall.delivered("a") == [number]
        hall.drop("a")


def test_a_unit_that_failed_may_be_cut_anew_and_goes_on(hall: Hall) -> None:
    whole = chain("s", "xy")
    hall.add("a", whole)
    hall.processor.fails.add(key(whole))
    hall.push("s", 1)
    hall.drain()
    assert hall.states["a"] is QueryState.FAILED
    hall.processor.fails.clear()
    hall.add("b", chain("s", "x"))
    hall.push("s", 2)
    hall.topology.resume(hall.topology.queries["a"])
    hall.drain()
    assert hall.delivered("a") == [1, 2]
    hall.die()
    hall.push("s", 3)
    hall.drain()
    assert hall.delivered("a") == [1, 2, 3]


def test_a_promise_of_an_input_that_is_silent_now_outlives_the_cut(hall: Hall) -> None:
    whole = united(chain("s", "xy"), chain("t", ""))
    hall.add("a", whole)
    hall.push("s", 1)
    hall.push("t", 5)
    hall.end("t")
    hall.drain()
    buffer = hall.topology.buffers.get(key(whole))
    assert buffer is not None
    assert buffer.watermark == 1
    hall.add("b", chain("s", "x"))
    hall.push("s", 7)
    hall.drain()
    assert buffer.watermark == 7
    hall.end("s")
    hall.drain()
    assert hall.states["a"] is QueryState.FINISHED


def test_an_input_that_ended_before_the_cut_has_still_ended(hall: Hall) -> None:
    hall.add("a", united(chain("s", "xy"), chain("t", "")))
    hall.push("s", 1)
    hall.end("s")
    hall.drain()
    hall.add("b", chain("s", "x"))
    hall.end("t")
    hall.drain()
    assert hall.states["a"] is QueryState.FINISHED


def test_the_promise_of_a_silent_stream_holds_for_a_query_that_comes_later(hall: Hall) -> None:
    hall.add("a", united(chain("s", "x"), chain("t", "x")))
    hall.push("t", 5)
    hall.end("t")
    hall.drain()
    hall.add("b", united(chain("s", "y"), chain("t", "y")))
    hall.push("s", 3)
    hall.drain()
    later = hall.topology.buffers.get(key(hall.roots["b"]))
    assert later is not None
    assert later.watermark == 3


def counted(source: Operator, label: str) -> Operator:
    """Return a windowed query whose last step alone is its own."""
    windows = WindowAggregate(source, EventTime("ts"), spans(10, 10), (), (), SCHEMA)
    return Project(windows, ((label, "1"),), SCHEMA)


def test_the_state_of_windows_goes_over_to_the_unit_that_shares_them(hall: Hall) -> None:
    first, second = counted(chain("s", "x"), "a"), counted(chain("s", "x"), "b")
    (windows,) = first.inputs
    hall.add("a", first)
    state = hall.topology.units[key(first)].state
    assert state is not None
    hall.add("b", second)
    assert hall.topology.units[key(windows)].state is state
    assert hall.topology.units[key(first)].state is None
    hall.drop("a")
    assert hall.topology.units[key(windows)].state is state


def test_new_windows_begin_behind_the_latest_time_that_was_seen(hall: Hall) -> None:
    hall.add("a", chain("s", "x"))
    hall.add("b", counted(chain("s", ""), "b"))
    hall.push("s", 70, 30)
    hall.take_in()
    hall.add("c", counted(chain("s", "y"), "c"))
    states = {name: hall.topology.units[key(hall.roots[name])].state for name in "bc"}
    assert {name: state and state.begin for name, state in states.items()} == {
        "b": BEGIN_OF_TIME,
        "c": 71,
    }


# -- deaths on the way through a change ------------------------------------------------------


def test_a_reader_ahead_of_a_feed_that_reads_again_makes_it_forget_nothing(hall: Hall) -> None:
    hall.add("a", scan("s"))
    hall.push("s", 1)
    hall.take_in()
    hall.add("b", scan("s"))  # begins behind the train that a has not read yet
    hall.die()
    hall.drop("a")
    hall.die()
    hall.push("s", 2)
    hall.drain()
    assert hall.delivered("b") == [2]


def test_a_query_that_was_defined_and_did_not_get_into_a_checkpoint_is_added_then(
    hall: Hall,
) -> None:
    whole, part = chain("s", "xy"), chain("s", "x")
    hall.add("a", whole)
    hall.push("s", 1)
    hall.take_in()
    hall.turn()  # recorded over the stream's trains, which the next cut will not read
    hall.remember("b", part)
    hall.die()
    hall.push("s", 2)
    hall.drain()
    assert (hall.delivered("a"), hall.delivered("b")) == ([1, 2], [2])
    hall.die()
    hall.push("s", 3)
    hall.drain()
    assert (hall.delivered("a"), hall.delivered("b")) == ([1, 2, 3], [2, 3])


def test_a_query_that_was_replaced_on_the_way_to_a_death_is_the_new_one(hall: Hall) -> None:
    hall.add("a", chain("s", "x"))
    hall.push("s", 1)
    hall.drain()
    hall.remember("a", chain("s", "y"))
    hall.die()
    hall.push("s", 2)
    hall.drain()
    assert hall.delivered("a") == [1, 2]  # it begins where the last checkpoint stood
    assert key(chain("s", "x")) not in hall.topology.units


def test_a_query_that_was_dropped_on_the_way_to_a_death_may_come_again(hall: Hall) -> None:
    hall.add("a", chain("s", "x"))
    hall.push("s", 1)
    hall.drain()
    del hall.roots["a"]
    hall.die()
    hall.drain()
    hall.add("a", chain("s", "x"))
    hall.push("s", 2)
    hall.drain()
    assert hall.delivered("a")[-1:] == [2]


# -- what the topology says of itself -----------------------------------------------------------


def test_a_node_that_fails_holds_the_queries_that_need_it_and_no_others(hall: Hall) -> None:
    hall.add("a", chain("s", "xy"))
    hall.add("b", chain("s", "xz"))
    hall.add("c", chain("s", "z"))
    hall.processor.fails.add(key(chain("s", "x")))
    hall.push("s", 1)
    hall.drain()
    held = {name: state is QueryState.FAILED for name, state in hall.states.items()}
    assert held == {"a": True, "b": True, "c": False}
    assert hall.delivered("c") == [1]
    assert hall.topology.queries["a"].cause
    hall.processor.fails.clear()
    hall.topology.resume(hall.topology.queries["a"])
    assert (hall.states["a"], hall.topology.queries["a"].cause) == (QueryState.RUNNING, "")
    hall.drain()
    assert (hall.delivered("a"), hall.delivered("b")) == ([1], [])
    hall.topology.resume(hall.topology.queries["b"])
    hall.drain()
    assert hall.delivered("b") == [1]


def test_it_is_drained_when_sources_have_ended_and_nothing_waits(hall: Hall) -> None:
    assert hall.topology.is_drained()
    hall.add("a", chain("s", "x"))
    assert not hall.topology.is_drained()
    hall.push("s", 1)
    hall.end("s")
    for _ in range(2):
        hall.take_in()
    assert not hall.topology.is_drained()
    hall.turn()
    assert not hall.topology.is_drained()
    hall.deliver()
    assert hall.topology.is_drained()


def test_a_source_that_nobody_waits_for_any_more_does_not_keep_it_from_being_drained(
    hall: Hall,
) -> None:
    hall.add("a", chain("s", "x"))
    (source_reader,) = [
        each for each in hall.topology.source_readers.values() if each.scan == scan("s")
    ]
    for _ in range(PATIENCE):
        source_reader.failed("no", 0.0)
    assert hall.topology.is_drained()


def test_a_query_that_has_ended_is_set_aside_with_its_figures(hall: Hall) -> None:
    query = hall.add("a", chain("s", "x"))
    hall.push("s", 1, 2, 3)
    hall.end("s")
    hall.drain()
    assert hall.topology.queries == {}
    assert hall.topology.finished == {"a": query}
    assert (query.state, query.meter.rows, hall.topology.rows_in(query)) == (
        QueryState.FINISHED,
        3,
        3,
    )
    assert hall.topology.units == {}


def test_rows_are_counted_where_they_come_from_the_streams(hall: Hall) -> None:
    deep = hall.add("a", chain("s", "xy"))
    hall.add("b", chain("s", "x"))
    whole = hall.add("c", scan("s"))
    hall.push("s", 1, 2, 3)
    hall.drain()
    assert hall.topology.rows_in(deep) == 3
    assert hall.topology.rows_in(whole) == 3


def test_only_a_new_state_is_told(hall: Hall) -> None:
    told: list[QueryState] = []
    query = hall.add("a", chain("s", "x"))
    hall.topology.note_state = lambda *news: told.append(news[1])
    for state in (QueryState.RUNNING, QueryState.FAILED, QueryState.FAILED, QueryState.RUNNING):
        hall.topology.set_state(query, state, "")
    assert told == [QueryState.FAILED, QueryState.RUNNING]
