import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.schedule import ReadyUnit, make_strategy
from penstock.schedule.costs.observation import Average, Observation, OperatorFigures
from penstock.schedule.costs.run_cost import run_cost_of
from tests.unit.schedule.lines import lines

COST = st.floats(1e-6, 1e-2)


@given(st.floats(1e-3, 0.2), COST, st.integers(1, 10_000), st.integers(1, 10_000))
def test_the_tuples_of_a_run_are_worth_at_most_what_they_cost_without_it(
    run: float, net: float, usual: int, rows: int
) -> None:
    cost = run_cost_of(run, net + run / usual, usual)
    assert cost is not None
    assert 0 < cost.pays(rows) <= cost.mean / cost.tuple


@given(st.floats(1e-3, 0.2), COST, st.integers(1, 999), st.integers(1, 999), st.integers(1, 999))
def test_more_tuples_at_once_are_never_worth_less(
    run: float, mean: float, usual: int, few: int, more: int
) -> None:
    cost = run_cost_of(run, mean, usual)
    assert cost is not None
    assert cost.pays(few) <= cost.pays(few + more) * (1 + 1e-9)


@pytest.mark.parametrize("run", [0.0, math.nan, math.inf, -1.0])
def test_without_a_cost_of_runs_nothing_changes(run: float) -> None:
    assert run_cost_of(run, 0.1, 5) is None
    assert run_cost_of(0.1, math.nan, 5) is None


def test_pcs_lets_tuples_gather_where_a_run_is_dear() -> None:
    graph, seen = lines([(0.001, 1.0)], [(0.002, 1.0)])
    cheap, dear = (strategy_unit.key for strategy_unit in make_strategy("pcs").cut(graph, ()))
    few, many = ReadyUnit(cheap, 2, 0.0), ReadyUnit(dear, 500, 0.0)
    for run_seconds, chosen in ((0.0, cheap), (0.05, dear)):
        strategy = make_strategy("pcs")
        strategy.cut(graph, ())
        strategy.observe(Observation(seen.operators, seen.units, seen.queries, run_seconds))
        assert strategy.next([few, many], 1.0) == chosen


def test_what_is_measured_of_a_unit_goes_before_what_its_operators_say() -> None:
    graph, seen = lines([(0.001, 1.0)], [(0.001, 1.0)])
    strategy = make_strategy("pcs")
    one, other = (unit.key for unit in strategy.cut(graph, ()))
    units = {one: OperatorFigures(Average(0.1, 50.0)), other: OperatorFigures(Average(0.001, 50.0))}
    strategy.observe(Observation(seen.operators, units, seen.queries))
    assert strategy.next([ReadyUnit(one, 9, 0.0), ReadyUnit(other, 9, 1.0)], 2.0) == other
