"""Changing the strategy while trains wait: nothing is lost, doubled or reordered."""

import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.engine.trains.rows import Rows, empty_table
from penstock.plan.operators import Operator, Union, key
from penstock.plan.operators.graph import Graph
from penstock.plan.sharing.units import Unit
from penstock.runtime.topology.connection import connect
from penstock.runtime.topology.placement import needed_cuts
from penstock.schedule import STRATEGIES, Observation, ReadyUnit, Strategy, make_strategy
from tests.examples import examples
from tests.unit.model.arrow_twin import arrow_without_spark
from tests.unit.model.hall import SCHEMA, Hall, TwinProcessor, chain

QUERIES = ("x", "xyz", "xyw", "vu")
BOTH = Union((chain("s", "pq"), chain("s", "rst")), SCHEMA)  # meets the same trains on two ways
ACTIONS = st.one_of(
    st.sampled_from(["take in", "turn", "deliver", "die", "checkpoint"]),
    st.integers(0, 7).map(lambda place: f"turn of {place}"),
    st.integers(1, 4),
    st.sampled_from(["set basic", "set round_robin"]),
    st.sampled_from([f"set {name}" for name in STRATEGIES]),
)


@pytest.fixture(scope="module", autouse=True)
def no_spark() -> Iterator[None]:
    with arrow_without_spark():
        yield


@dataclass
class Once:
    """Lets one of those that are ready run, and then nobody."""

    strategy: Strategy
    place: int
    chosen: bool = False

    def observe(self, seen: Observation) -> None:
        """Nothing is observed meanwhile."""

    def cut(self, graph: Graph, standing: Iterable[str]) -> tuple[Unit, ...]:
        return self.strategy.cut(graph, standing)

    def next(self, ready: Sequence[ReadyUnit], now: float) -> str | None:
        if self.chosen:
            return None
        self.chosen = True
        return sorted(unit.key for unit in ready)[self.place % len(ready)]


class TreeProcessor(TwinProcessor):
    """Hands rows on through every operator: what reads the same twice gives it twice."""

    def flow(self, unit: Unit, inputs: Mapping[str, Sequence[Rows]]) -> pa.Table:
        def rows(node: Operator) -> list[pa.Table]:
            if key(node) in inputs:
                return [each.to_table(SCHEMA) for each in inputs[key(node)]]
            return [table for below in node.inputs for table in rows(below)]

        return pa.concat_tables([empty_table(SCHEMA), *rows(unit.root)])


class TreeHall(Hall):
    """A hall whose units compute what their operators say."""

    def _open(self, *, older: bool = False) -> None:
        super()._open(older=older)
        self.dispatcher.processor = TreeProcessor(self.home / "spill")


def change(hall: Hall, name: str) -> None:
    """Do what SET STRATEGY does while quiesced."""
    hall.catch_up()
    strategy = make_strategy(name)
    strategy.observe(hall.dispatcher.statistics.observation(hall.topology, hall.clock.now()))
    connect(hall.topology, strategy.cut(hall.topology.graph, needed_cuts(hall.topology)))
    hall.dispatcher.strategy = strategy
    hall.checkpoint()


def act(hall: Hall, action: str | int, pushed: list[int]) -> None:
    match action:
        case int():
            rows = list(range(len(pushed), len(pushed) + action))
            hall.push("s", *rows)
            pushed += rows
        case _ if action.startswith("turn of "):
            every = hall.dispatcher.strategy
            hall.dispatcher.strategy = Once(every, int(action.removeprefix("turn of ")))
            hall.turn()
            hall.dispatcher.strategy = every
        case _ if action.startswith("set "):
            change(hall, action.removeprefix("set "))
        case _:
            hall.do(action)


@given(st.lists(ACTIONS, max_size=25))
@settings(max_examples=examples(150))
def test_whatever_strategies_follow_each_other_every_query_gets_every_row_once_in_order(
    actions: list[str | int],
) -> None:
    with tempfile.TemporaryDirectory() as home:
        hall = TreeHall(Path(home) / "home")
        for labels in QUERIES:
            hall.add(labels, chain("s", labels))
        hall.add("both", BOTH)
        pushed: list[int] = []
        for action in actions:
            act(hall, action, pushed)
        hall.drain()
        assert {labels: hall.delivered(labels) for labels in QUERIES} == dict.fromkeys(
            QUERIES, pushed
        )
        assert Counter(hall.delivered("both")) == dict.fromkeys(pushed, 2)


def test_a_finer_cut_and_back_leave_the_units_as_they_were(tmp_path: Path) -> None:
    hall = Hall(tmp_path / "home")
    hall.add("a", chain("s", "xyz"))
    before = {name: live.unit for name, live in hall.topology.units.items()}
    change(hall, "basic")
    assert set(hall.topology.units) == {key(chain("s", part)) for part in ("x", "xy", "xyz")}
    change(hall, "round_robin")
    assert {name: live.unit for name, live in hall.topology.units.items()} == before


def test_operators_with_trains_between_them_stay_apart_until_these_are_read(tmp_path: Path) -> None:
    hall = Hall(tmp_path / "home")
    hall.add("a", chain("s", "xy"))
    change(hall, "basic")
    hall.push("s", 1, 2)
    hall.take_in()
    hall.turn()  # the lower one has run, the upper one has not
    change(hall, "round_robin")
    assert set(hall.topology.units) == {key(chain("s", part)) for part in ("x", "xy")}
    hall.drain()
    change(hall, "round_robin")
    assert set(hall.topology.units) == {key(chain("s", "xy"))}
    hall.push("s", 3)
    hall.drain()
    assert hall.delivered("a") == [1, 2, 3]


def test_a_streams_tuples_are_counted_on_however_it_is_cut(tmp_path: Path) -> None:
    hall = Hall(tmp_path / "home")
    query = hall.add("a", chain("s", "xyz"))
    hall.push("s", 1, 2)
    hall.drain()
    for name in ("basic", "round_robin", "basic"):
        change(hall, name)
        assert hall.topology.rows_in(query) == 2


def test_units_that_have_come_less_far_stay_apart(tmp_path: Path) -> None:
    hall = TreeHall(tmp_path / "home")
    hall.add("both", BOTH)
    change(hall, "basic")
    hall.push("s", 1)
    hall.take_in()
    for unit in (chain("s", "p"), chain("s", "pq"), BOTH):  # the other way waits
        ready = sorted(hall.dispatcher.run_queue.look(hall.clock.now()))
        act(hall, f"turn of {ready.index(key(unit))}", [])
    for _ in range(2):
        change(hall, "round_robin")
        hall.drain()
    assert set(hall.topology.units) == {key(BOTH)}
    hall.push("s", 2)
    hall.drain()
    assert hall.delivered("both") == [1, 1, 2, 2]
