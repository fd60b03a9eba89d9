"""Basic and OptProfit: densities, deadlines and LastDitch."""

import math

import pytest

from penstock.plan.operators import key
from penstock.plan.operators.graph import Graph
from penstock.schedule.costs.observation import Observation, OperatorFigures, QueryFigures
from penstock.schedule.strategies.profit.basic import Basic
from penstock.schedule.strategies.profit.dense import Dense
from penstock.schedule.strategies.profit.optprofit import OptProfit
from penstock.schedule.strategies.profit.optprofit_paper import OptProfitPaper
from penstock.schedule.strategy import ReadyUnit, RunningUnit
from tests.unit.plan.graphs import scan
from tests.unit.schedule.lines import line, lines, root_of


def counter_example() -> tuple[Graph, Observation]:
    """Defect C10 as queries: root a (cost 5) with b (3, worth 8) and c (2, worth 8), and d."""
    a = line("s", 1)[0]
    roots = {
        "b": line("b", 1, below=a)[0],
        "c": line("c", 1, below=a)[0],
        "d": line("d", 1, below=scan("s"))[0],
    }
    seconds = {key(a): 5.0, **{key(roots[n]): c for n, c in (("b", 3.0), ("c", 2.0), ("d", 4.0))}}
    figures = {name: OperatorFigures.declared(cost) for name, cost in seconds.items()}
    weights = {"b": QueryFigures(8), "c": QueryFigures(8), "d": QueryFigures(5)}
    return Graph(roots), Observation(figures, {}, weights)


def told(strategy: Dense, graph: Graph, seen: Observation) -> list[str]:
    strategy.observe(seen)
    return [unit.key for unit in strategy.cut(graph, ())]


def test_basic_has_one_operator_a_unit() -> None:
    graph, seen = lines([(1, 1)] * 3)
    assert len(told(Basic(), graph, seen)) == 3
    assert len(told(OptProfit(), graph, seen)) == 1


def test_basic_values_an_operator_by_all_that_is_downstream_over_its_own_cost() -> None:
    graph, seen = counter_example()
    strategy = Basic()
    told(strategy, graph, seen)
    shared = key(graph.queries["b"].inputs[0])
    assert strategy.priority[shared] == pytest.approx(16 / 5)
    assert strategy.priority[root_of(graph, "d")] == pytest.approx(5 / 4)


@pytest.mark.parametrize(("kind", "first"), [(OptProfit, "shared"), (OptProfitPaper, "d")])
def test_the_counter_example_of_the_printed_algorithm(kind: type[Dense], first: str) -> None:
    graph, seen = counter_example()
    strategy = kind()
    told(strategy, graph, seen)
    names = {"shared": key(graph.queries["b"].inputs[0]), "d": root_of(graph, "d")}
    waiting = [ReadyUnit(name, 1, 0.0) for name in names.values()]
    assert strategy.next(waiting, 0.0) == names[first]


def test_weights_decide_between_equal_queries() -> None:
    graph, seen = lines([(1, 1)], [(1, 1)], weights=[1, 10])
    for strategy in (Basic(), OptProfit()):
        units = told(strategy, graph, seen)
        assert strategy.next([ReadyUnit(name, 1, 0.0) for name in units], 0.0) == units[1]


def test_deadlines_only_break_ties_where_they_are_not_handled() -> None:
    graph, seen = lines([(1, 1)], [(1, 1)], [(0.1, 1)])
    strategy = Basic()
    a, b, quick = told(strategy, graph, seen)
    waiting = [ReadyUnit(a, 1, 0, 0, 9.0), ReadyUnit(b, 1, 0, 0, 8.0)]
    assert strategy.next(waiting, 0.0) == b
    assert strategy.next([*waiting, ReadyUnit(quick, 1, 0, 0, 99.0)], 0.0) == quick
    assert strategy.hopeless([ReadyUnit(a, 1, 0, 0, -9.0)], 0.0) == []
    assert strategy.alarm(waiting, 0.0) == math.inf


@pytest.mark.parametrize(
    ("handling", "first"), [("deadline_dominant", "urgent"), ("profit_dominant", "worthy")]
)
@pytest.mark.parametrize("kind", [Basic, OptProfit])
def test_what_dominates_goes_first(kind: type[Dense], handling: str, first: str) -> None:
    graph, seen = lines([(1, 1)], [(1, 1)], weights=[1, 10])
    strategy = kind(handling)
    urgent, worthy = told(strategy, graph, seen)
    waiting = [ReadyUnit(urgent, 1, 0, 0, 2.0), ReadyUnit(worthy, 1, 0, 0, 9.0)]
    assert strategy.next(waiting, 0.0) == {"urgent": urgent, "worthy": worthy}[first]


@pytest.mark.parametrize("handling", ["deadline_dominant", "profit_dominant"])
def test_what_cannot_be_in_time_is_given_up_and_runs_last(handling: str) -> None:
    graph, seen = lines([(1, 1)], [(1, 1)], weights=[1, 10])
    strategy = OptProfit(handling)
    some, late = told(strategy, graph, seen)
    waiting = [ReadyUnit(some, 1, 0, 0, 9.0), ReadyUnit(late, 4, 0, 0, 3.0)]
    assert strategy.hopeless(waiting, 0.0) == [late]
    assert strategy.next(waiting, 0.0) == some
    assert strategy.alarm(waiting, 0.0) == pytest.approx(8.0)


@pytest.mark.parametrize(
    ("handling", "weight", "saved"),
    [
        ("profit_dominant", 7.0, True),  # 0.7 of the other's density is above 0.65 of it
        ("profit_dominant", 6.0, False),
        ("deadline_dominant", 14.0, True),  # 1.4 of it is above 1.3
        ("deadline_dominant", 12.0, False),
    ],
)
def test_last_ditch_saves_what_is_worth_u_times_the_unit_at_work(
    handling: str, weight: float, saved: bool
) -> None:
    graph, seen = lines([(1, 1)], [(1, 1)], weights=[10, weight])
    strategy = OptProfit(handling)
    at_work, due = told(strategy, graph, seen)
    running = RunningUnit(ReadyUnit(at_work, 4, 0, 0, 4.0), 4.0)
    waiting = [ReadyUnit(due, 2, 0, 0, 2.0)]
    assert (strategy.interrupt(running, waiting, 0.0) == due) is saved


def test_a_unit_near_its_end_is_harder_to_interrupt() -> None:
    graph, seen = lines([(1, 1)], [(1, 1)], weights=[10, 9])
    strategy = OptProfit("profit_dominant")
    at_work, due = told(strategy, graph, seen)
    waiting = [ReadyUnit(due, 2, 0, 0, 2.0)]
    before, after = (RunningUnit(ReadyUnit(at_work, 4, 0, 0, 9.0), left) for left in (4.0, 1.0))
    assert strategy.interrupt(before, waiting, 0.0) == due
    assert strategy.interrupt(after, waiting, 0.0) is None


def test_u_can_be_given() -> None:
    assert Basic("profit_dominant", 0.9).u == 0.9
    assert Basic("deadline_dominant").u == 1.3
    assert OptProfit("profit_dominant").u == 0.65


def test_a_tuple_of_a_fast_stream_is_worth_less() -> None:
    graph, seen = lines([(1, 1)], [(1, 1)])
    scans = {
        key(scan): OperatorFigures.declared(0, 1, 100, rate)
        for scan, rate in zip(graph.scans(), (1, 100), strict=True)
    }
    strategy = OptProfit()
    slow, fast = told(strategy, graph, Observation({**seen.operators, **scans}))
    assert strategy.priority[slow] == pytest.approx(100 * strategy.priority[fast])
