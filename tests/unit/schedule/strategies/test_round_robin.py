import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import UnknownOptionError
from penstock.plan.sharing.units import cut_at_shared
from penstock.schedule import STRATEGIES, ReadyUnit, RoundRobin, make_strategy
from tests.unit.plan.twin import World

READY = st.lists(st.lists(st.sampled_from("abcde"), unique=True), max_size=40)


def ready(keys: list[str]) -> list[ReadyUnit]:
    return [ReadyUnit(key, 1, 0.0) for key in keys]


def dispatcher(steps: list[list[str]]) -> list[str | None]:
    strategy = RoundRobin()
    return [strategy.next(ready(keys), float(now)) for now, keys in enumerate(steps)]


@given(READY)
@settings(deadline=None)
def test_one_of_the_ready_units_runs_and_none_where_there_are_none(steps: list[list[str]]) -> None:
    for keys, chosen in zip(steps, dispatcher(steps), strict=True):
        assert chosen in keys if keys else chosen is None


@given(READY)
@settings(deadline=None)
def test_between_two_turns_of_a_unit_all_that_stay_ready_have_had_one(
    steps: list[list[str]],
) -> None:
    served = dispatcher(steps)
    for first, key in enumerate(served):
        again = next((n for n in range(first + 1, len(served)) if served[n] == key), None)
        if key is None or again is None:
            continue
        stayed = set.intersection(*(set(keys) for keys in steps[first + 1 : again + 1])) - {key}
        assert stayed <= set(served[first + 1 : again])


@given(READY)
@settings(deadline=None)
def test_the_same_steps_give_the_same_turns(steps: list[list[str]]) -> None:
    assert dispatcher(steps) == dispatcher(steps)


def test_it_cuts_where_trains_are_shared() -> None:
    world = World()
    world.name("a", "SELECT mph FROM traffic WHERE mph > 3")
    world.name("b", "SELECT kind FROM traffic WHERE mph > 3")
    assert RoundRobin().cut(world.graph, ()) == cut_at_shared(world.graph)


def test_strategies_are_made_by_their_names() -> None:
    for name, kind in STRATEGIES.items():
        assert isinstance(make_strategy(name), kind)
    with pytest.raises(UnknownOptionError):
        make_strategy("nada")
