"""Changing the strategy while trains wait: nothing is lost, doubled or reordered."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.plan.operators import key
from penstock.schedule import STRATEGIES, make_strategy
from tests.unit.model.arrow_twin import arrow_without_spark
from tests.unit.model.hall import Hall, chain

QUERIES = ("x", "xyz", "xyw", "vu")
ACTIONS = st.one_of(
    st.sampled_from(["take in", "turn", "deliver", "die", "checkpoint"]),
    st.integers(1, 4),
    st.sampled_from([f"set {name}" for name in STRATEGIES]),
)


@pytest.fixture(scope="module", autouse=True)
def no_spark() -> Iterator[None]:
    with arrow_without_spark():
        yield


def change(hall: Hall, name: str) -> None:
    """Do what SET STRATEGY does at rest."""
    hall.catch_up()
    strategy = make_strategy(name)
    strategy.observe(hall.turns.statistics.observation(hall.plant, hall.clock.now()))
    hall.plant.connect(strategy.cut(hall.plant.graph, hall.plant.needed_cuts()))
    hall.turns.strategy = strategy
    hall.checkpoint()


def act(hall: Hall, action: str | int, pushed: list[int]) -> None:
    match action:
        case int():
            rows = list(range(len(pushed), len(pushed) + action))
            hall.push("s", *rows)
            pushed += rows
        case "take in":
            hall.take_in()
        case "turn":
            hall.turn()
        case "deliver":
            hall.deliver()
        case "die":
            hall.die()
        case "checkpoint":
            hall.checkpoint()
        case _:
            change(hall, action.removeprefix("set "))


@given(st.lists(ACTIONS, max_size=25))
@settings(max_examples=150)
def test_whatever_strategies_follow_each_other_every_query_gets_every_row_once_in_order(
    actions: list[str | int],
) -> None:
    with tempfile.TemporaryDirectory() as home:
        hall = Hall(Path(home) / "home")
        for labels in QUERIES:
            hall.add(labels, chain("s", labels))
        pushed: list[int] = []
        for action in actions:
            act(hall, action, pushed)
        hall.drain()
        assert {labels: hall.delivered(labels) for labels in QUERIES} == dict.fromkeys(
            QUERIES, pushed
        )


def test_a_finer_cut_and_back_leave_the_units_as_they_were(tmp_path: Path) -> None:
    hall = Hall(tmp_path / "home")
    hall.add("a", chain("s", "xyz"))
    before = {name: live.unit for name, live in hall.plant.units.items()}
    change(hall, "basic")
    assert set(hall.plant.units) == {key(chain("s", part)) for part in ("x", "xy", "xyz")}
    change(hall, "round_robin")
    assert {name: live.unit for name, live in hall.plant.units.items()} == before


def test_operators_with_trains_between_them_stay_apart_until_these_are_read(tmp_path: Path) -> None:
    hall = Hall(tmp_path / "home")
    hall.add("a", chain("s", "xy"))
    change(hall, "basic")
    hall.push("s", 1, 2)
    hall.take_in()
    hall.turn()  # the lower one has run, the upper one has not
    change(hall, "round_robin")
    assert set(hall.plant.units) == {key(chain("s", part)) for part in ("x", "xy")}
    hall.drain()
    change(hall, "round_robin")
    assert set(hall.plant.units) == {key(chain("s", "xy"))}
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
        assert hall.plant.rows_in(query) == 2
