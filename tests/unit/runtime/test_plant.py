"""How a change re-connects the plant: nothing is lost, nothing comes twice, whatever is cut."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from penstock.model.definitions import QueryState
from penstock.plan.operators import EventTime, Operator, Union
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

    def __init__(self) -> None:
        super().__init__()
        self.directory = Path(tempfile.mkdtemp())
        self.hall = Hall(self.directory / "home", STREAMS)
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

    @precondition(lambda self: self.hall.plant.units)
    @rule(data=st.data())
    def fail(self, data: st.DataObject) -> None:
        """Let a unit fail from now on; the queries that need it are held."""
        self.hall.processor.fails.add(data.draw(st.sampled_from(sorted(self.hall.plant.units))))

    @rule()
    def resume(self) -> None:
        self.hall.processor.fails.clear()
        for query in list(self.hall.plant.queries.values()):
            if query.state is QueryState.FAILED:
                self.hall.plant.resume(query)

    @rule()
    def checkpoint(self) -> None:
        self.hall.checkpoint()

    @rule()
    def die(self) -> None:
        self.hall.die()

    @rule(
        when=st.sampled_from(["before", "after"]),
        what=st.sampled_from(["take_in", "turn", "deliver"]),
    )
    def die_at_work(self, when: str, what: str) -> None:
        self.hall.crew.dies = when
        try:
            getattr(self.hall, what)()
        except DeathError:
            self.hall.die()
        self.hall.crew.dies = ""

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
        self.hall.crew.dies = ""
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


Recutting.TestCase.settings = settings(deadline=None, max_examples=200, stateful_step_count=40)
test_cutting_anew_and_dying_lose_and_repeat_nothing = Recutting.TestCase
