"""The capacities, segments and envelopes of the documents' examples."""

import pytest

from penstock.plan.operators import key
from penstock.plan.operators.graph import Graph
from penstock.schedule import make_strategy
from penstock.schedule.costs.flow import flow_of
from penstock.schedule.costs.observation import Observation, OperatorFigures
from penstock.schedule.costs.shape import shape_of
from penstock.schedule.strategies.chain import Chain, envelope, progress
from penstock.schedule.strategies.pcs import Pcs
from penstock.schedule.strategies.segment import release_capacities, stays
from penstock.schedule.strategy import ReadyUnit, RunningUnit
from tests.unit.schedule.lines import line, lines, root_of


def test_a_paths_capacity_is_one_over_the_time_of_a_tuple() -> None:
    # ANA-04's worked example: 1000, 500 and 100 tuples a second, selectivities 0.5 and 0.2.
    graph, seen = lines([(0.001, 0.5), (0.002, 0.2), (0.01, 1.0)])
    strategy = Pcs()
    strategy.observe(seen)
    (unit,) = strategy.cut(graph, ())
    assert strategy.priority[unit.key] == pytest.approx(333.333, rel=1e-4)


def test_units_of_one_path_have_its_capacity_and_the_later_goes_first() -> None:
    graph, seen = lines([(0.001, 0.5), (0.002, 0.2), (0.01, 1.0)])
    strategy = Pcs()
    strategy.observe(seen)
    middle = list(graph.nodes())[2]
    first, second = strategy.cut(graph, {middle})
    assert strategy.priority[first.key] == pytest.approx(333.333, rel=1e-4)
    assert strategy.priority[first.key] == strategy.priority[second.key]
    waiting = [ReadyUnit(first.key, 1, 0.0), ReadyUnit(second.key, 1, 1.0)]
    assert strategy.next(waiting, 2.0) == second.key


def test_a_shared_operator_counts_for_all_that_it_serves() -> None:
    shared = line("s", 1)
    graph = Graph(
        {f"q{n}": line(f"s{n}", 1, below=shared[-1])[-1] for n in range(3)}
        | {"alone": line("t", 1)[-1]}
    )
    seen = Observation({name: OperatorFigures.declared(1.0) for name in graph.nodes()})
    strategy = Pcs()
    strategy.observe(seen)
    strategy.cut(graph, ())
    assert strategy.priority[key(shared[-1])] == pytest.approx(3 / 4)
    assert strategy.priority[root_of(graph, "alone")] == pytest.approx(1.0)


def test_a_larger_capacity_takes_the_slot() -> None:
    graph, seen = lines([(1.0, 1.0)], [(0.1, 1.0)])
    strategy = Pcs()
    strategy.observe(seen)
    slow, quick = (unit.key for unit in strategy.cut(graph, ()))
    assert strategy.interrupt(
        RunningUnit(ReadyUnit(slow, 1, 0.0), 0.5), [ReadyUnit(quick, 1, 0.0)], 1
    )
    assert not strategy.interrupt(
        RunningUnit(ReadyUnit(quick, 1, 0.0), 0.5), [ReadyUnit(slow, 1, 0.0)], 1
    )


def test_the_lower_envelope_skips_what_lies_above_it() -> None:
    assert envelope([(0, 1.0), (1, 0.9), (2, 0.1), (3, 0.0)]) == [
        (pytest.approx(0.45), 1),
        (pytest.approx(0.1), 2),
    ]


def test_chain_cuts_at_the_corners_of_the_envelope_and_ranks_by_slope() -> None:
    graph, seen = lines([(1.0, 0.9), (1.0, 0.1), (100.0, 0.5)], [(1.0, 0.8), (40.0, 1.0)])
    strategy = Chain()
    strategy.observe(seen)
    units = strategy.cut(graph, ())
    assert sorted(len(unit.members()) for unit in units) == [1, 1, 1, 2]
    steep = max(strategy.priority, key=strategy.priority.__getitem__)
    assert len(next(unit for unit in units if unit.key == steep).members()) == 2


def test_the_progress_chart_ends_with_nothing_in_memory() -> None:
    graph, seen = lines([(1.0, 0.5), (2.0, 0.5)])
    flow = flow_of(shape_of(graph), seen)
    assert progress(flow, flow.shape.paths[0]) == [(0.0, 100.0), (1.0, 50.0), (2.0, 0.0)]


def test_memory_release_capacity_is_the_bytes_freed_in_a_second() -> None:
    graph, seen = lines([(0.5, 0.5), (2.0, 0.5)])
    flow = flow_of(shape_of(graph), seen)
    assert release_capacities(flow, flow.shape.paths[0]) == [100.0, 50.0]


@pytest.mark.parametrize(
    ("here", "after", "gamma", "held"),
    [
        (100, 100, 1.0, True),
        (100, 99, 1.0, False),
        (100, 75, 0.75, True),
        (100, 74, 0.75, False),
        (-100, -100, 1.0, True),
        (-100, -120, 0.75, True),
        (-100, -130, 0.75, False),
        (-100, 5, 0.75, True),
        (0, 0, 0.75, True),
    ],
)
def test_similarity_holds_for_operators_that_need_memory_too(
    here: float, after: float, gamma: float, held: bool
) -> None:
    assert stays(here, after, gamma) is held


def test_the_simplified_strategy_cuts_a_path_at_most_once() -> None:
    falling = [(1.0, 0.2), (2.0, 0.5), (4.0, 0.5), (80.0, 1.0)]
    graph, seen = lines(falling)
    counts = {}
    for name in ("pcs", "simplified_segment", "segment"):
        strategy = make_strategy(name)
        strategy.observe(seen)
        counts[name] = len(strategy.cut(graph, ()))
    assert counts == {"pcs": 1, "simplified_segment": 2, "segment": 4}


def test_gamma_says_how_similar_operators_have_to_be() -> None:
    graph, seen = lines([(1.0, 0.5), (1.0, 0.6), (1.0, 0.9), (9.0, 1.0)])  # 50, 40, 10, 11 bytes/s
    sizes = {}
    for gamma in (0.1, 0.75, 0.9):
        strategy = make_strategy("simplified_segment", gamma=gamma)
        strategy.observe(seen)
        sizes[gamma] = len(strategy.cut(graph, ())[0].members())
    assert sizes == {0.1: 4, 0.75: 2, 0.9: 1}
