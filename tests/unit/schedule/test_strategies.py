"""Laws that every strategy keeps, and what parameters are refused."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import BadOptionError, UnknownOptionError
from penstock.plan.operators import is_stateful, key
from penstock.plan.operators.graph import Graph
from penstock.schedule import STRATEGIES, ReadyUnit, Strategy, make_strategy
from penstock.schedule.costs.observation import Average, Observation, OperatorFigures, QueryFigures
from penstock.schedule.strategies.profit.optprofit import OptProfit
from tests.unit.plan.graphs import pools
from tests.unit.plan.twin import World
from tests.unit.schedule.lines import lines

NAMES = sorted(STRATEGIES)
ODD = st.sampled_from([0.0, 1e-9, 0.5, 1.0, 7.0, 1e9, math.inf, math.nan, -1.0])


@st.composite
def observations(draw: st.DrawFn, names: list[str]) -> Observation:
    known = st.builds(Average, ODD, st.sampled_from([0.0, 1.0, math.inf]))
    figures = st.builds(OperatorFigures, known, known, known, known)
    return Observation({name: draw(figures) for name in names if draw(st.booleans())})


def ready(units: list[str], now: float = 0.0) -> list[ReadyUnit]:
    return [ReadyUnit(name, 10, now, 1000, now + 5) for name in units]


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
@settings(deadline=None, max_examples=12)
def test_units_have_every_operator_and_at_most_one_that_keeps_state(
    name: str, data: st.DataObject
) -> None:
    pool = data.draw(pools())
    graph = Graph({"a": pool[-1], "b": pool[-2]})
    strategy = make_strategy(name)
    strategy.observe(data.draw(observations(list(graph.nodes()))))
    units = strategy.cut(graph, ())
    inside = {key(node) for unit in units for node in unit.members()}
    leaves = {leaf for unit in units for leaf in unit.inputs}
    assert inside | leaves >= graph.nodes().keys() - {key(scan) for scan in graph.scans()}
    for unit in units:
        assert sum(map(is_stateful, unit.members())) <= 1
        assert all(leaf in graph.nodes() for leaf in unit.inputs)


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
@settings(deadline=None, max_examples=12)
def test_one_of_the_ready_runs_whatever_the_figures_are(name: str, data: st.DataObject) -> None:
    graph, _ = lines([(1, 0.5), (2, 0.1)], [(3, 1.0)])
    strategy = make_strategy(name)
    strategy.cut(graph, ())
    strategy.observe(data.draw(observations(list(graph.nodes()))))
    units = [unit.key for unit in strategy.cut(graph, ())]
    for now in range(4):
        chosen = data.draw(st.lists(st.sampled_from(units), unique=True))
        assert strategy.next(ready(chosen, now), now) in (chosen or [None])


@pytest.mark.parametrize("name", NAMES)
def test_a_strategy_that_was_never_told_anything_still_chooses(name: str) -> None:
    strategy = make_strategy(name)
    assert strategy.next([], 0.0) is None
    assert strategy.next(ready(["x"]), 0.0) == "x"
    assert strategy.next([ReadyUnit("x", 1, 0.0)], 0.0) == "x"


@pytest.mark.parametrize("name", NAMES)
def test_whole_windows_stay_together(name: str) -> None:
    world = World()
    world.name(
        "t",
        "SELECT mph, count(*) AS n FROM traffic [RANGE 1 MINUTE] GROUP BY mph "
        "ORDER BY count(*) DESC LIMIT 3",
    )
    units = make_strategy(name).cut(world.graph, ())
    assert [unit.stateful is not None for unit in units if unit.is_ordered] == [True]


@pytest.mark.parametrize("name", NAMES)
def test_buffers_that_hold_trains_stay_where_they_are(name: str) -> None:
    graph, _ = lines([(1, 0.5)] * 3)
    middle = list(graph.nodes())[1]
    assert middle in {unit.key for unit in make_strategy(name).cut(graph, {middle})}


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("simplified_segment", {"gamma": 0.0}),
        ("simplified_segment", {"gamma": 1.0}),
        ("simplified_segment", {"gamma": math.nan}),
        ("basic", {"handling": "profit_dominant", "u": 0.0}),
        ("optprofit", {"handling": "deadline_dominant", "u": math.inf}),
        ("optprofit", {"u": 1.3}),
        ("adaptive", {"period": 0.0}),
    ],
)
def test_parameters_out_of_range_are_refused(name: str, parameters: dict[str, float]) -> None:
    with pytest.raises(BadOptionError):
        make_strategy(name, **parameters)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [("pcs", {"gamma": 1}), ("basic", {"handling": "no"}), ("adaptive", {"objective": "fame"})],
)
def test_parameters_that_there_are_not_are_refused(
    name: str, parameters: dict[str, float | str]
) -> None:
    with pytest.raises(UnknownOptionError):
        make_strategy(name, **parameters)


def dispatcher(strategy: Strategy, names: list[str], count: int) -> list[str | None]:
    return [strategy.next(ready(names, now), now) for now in range(count)]


def test_weighted_round_robin_gives_turns_by_priority() -> None:
    graph, seen = lines([(1, 1)], [(1, 1)], [(1, 1)])
    strategy = make_strategy("weighted_round_robin")
    queries = {f"q{n}": QueryFigures(priority=p) for n, p in enumerate((0, 2, 9))}
    strategy.observe(Observation(seen.operators, {}, queries))
    units = [unit.key for unit in strategy.cut(graph, ())]
    chosen = dispatcher(strategy, units, 14 * 5)
    assert [chosen.count(name) for name in units] == [5, 15, 50]


def test_fifo_takes_who_came_first() -> None:
    waiting = [ReadyUnit("a", 1, 3.0), ReadyUnit("b", 9, 1.0), ReadyUnit("c", 1, 2.0)]
    assert make_strategy("fifo").next(waiting, 5.0) == "b"


def test_the_earliest_deadline_goes_first_and_then_arrival() -> None:
    waiting = [
        ReadyUnit("a", 1, 0.0),
        ReadyUnit("b", 1, 3.0, deadline=8.0),
        ReadyUnit("c", 1, 4.0, deadline=7.0),
    ]
    strategy = make_strategy("earliest_deadline")
    assert strategy.next(waiting, 5.0) == "c"
    assert strategy.next([*waiting[:1], ReadyUnit("d", 1, -1.0)], 5.0) == "d"


def test_laxity_counts_the_work_that_is_left() -> None:
    graph, seen = lines([(0.1, 1)], [(1.0, 1)])
    strategy = make_strategy("least_laxity")
    strategy.observe(seen)
    quick, slow = (unit.key for unit in strategy.cut(graph, ()))
    waiting = [ReadyUnit(quick, 5, 0.0, 0, 9.0), ReadyUnit(slow, 5, 0.0, 0, 10.0)]
    assert strategy.next(waiting, 0.0) == slow


def test_adaptive_keeps_the_candidate_under_which_least_waits() -> None:
    strategy = make_strategy("adaptive", objective="memory", period=1.0)
    ruled: list[str] = []
    for now in range(60):
        name = type(strategy.current).__name__
        waits = 1 if name == "Chain" else 1000
        strategy.next([ReadyUnit("x", 1, now, waits)], now)
        ruled.append(type(strategy.current).__name__)
    assert set(ruled) == {"Chain", "Segment", "SimplifiedSegment", "Pcs"}
    assert ruled[8:].count("Chain") > 40


def test_a_queue_that_is_late_for_the_most_part_earns_little() -> None:
    behind, fresh = (
        ReadyUnit("behind", 10, 0.0, deadline=100.0, late=0.9),
        ReadyUnit("fresh", 10, 1.0, deadline=100.0),
    )
    strategy = OptProfit("profit_dominant")
    strategy.priority = {"behind": 3.0, "fresh": 1.0}
    assert strategy.next([behind, fresh], 2.0) == "fresh"
    plain = OptProfit()
    plain.priority = strategy.priority
    assert plain.next([behind, fresh], 2.0) == "behind"
