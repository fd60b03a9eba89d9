from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.plan.operators import key
from penstock.runtime.quality.statistics import Statistics
from penstock.schedule.costs.shape import parts_of, shape_of
from penstock.schedule.strategies.pcs import Pcs
from tests.unit.model.arrow_twin import arrow_without_spark
from tests.unit.model.hall import Hall, chain


@pytest.fixture(scope="module", autouse=True)
def no_spark() -> Iterator[None]:
    with arrow_without_spark():
        yield


def told(runs: dict[str, list[tuple[int, float]]]) -> float:
    statistics = Statistics()
    for unit, each in runs.items():
        for place, (rows, seconds) in enumerate(each):
            statistics.ran(unit, rows, rows, seconds, float(place))
    return statistics.run_seconds(10.0)


def test_what_every_run_costs_is_told_by_runs_of_different_lengths() -> None:
    runs = [(n, 0.05 + 0.001 * n) for n in (10, 100, 30, 400, 70, 10)]
    assert told({"a": runs}) == pytest.approx(0.05, rel=0.01)


def test_where_all_runs_are_alike_it_is_what_the_cheapest_unit_takes() -> None:
    assert told({"a": [(100, 0.06)] * 5, "b": [(100, 1.0)] * 5}) == pytest.approx(0.06, rel=0.01)


def test_a_single_run_tells_nothing() -> None:
    assert told({"a": [(100, 3.0)]}) == 0.0
    assert Statistics().run_seconds(1.0) == 0.0


def test_statistics_survive_a_checkpoint_and_what_is_broken_begins_anew() -> None:
    statistics, again = Statistics(), Statistics()
    statistics.ran("a", 10, 5, 0.1, 1.0)
    again.bring_back(statistics.kept())
    assert again.records == statistics.records
    again.bring_back({"units": {"a": [float("nan")] * 9}})
    assert again.records["a"].cost.weight == 0
    again.bring_back({})
    assert again.records == {}


def test_units_that_no_trial_took_apart_are_ranked_by_their_own_cost(tmp_path: Path) -> None:
    hall, statistics = Hall(tmp_path / "home"), Statistics()
    dear, cheap = chain("s", "xyz"), chain("s", "ab")
    hall.add("dear", dear)
    hall.add("cheap", cheap)
    for root, cost in ((dear, 2e-3), (cheap, 2e-4)):
        for second in range(20):
            statistics.ran(key(root), 100, 50, 100 * cost, float(second))
    seen = statistics.observation(hall.topology, 20.0)
    for root, cost in ((dear, 2e-3), (cheap, 2e-4)):
        members = [
            seen.operator(key(each)) for each in hall.topology.units[key(root)].unit.members()
        ]
        assert sum(each.seconds.or_else(0.0) for each in members) == pytest.approx(cost)
        assert members[-1].selectivity.or_else(0.0) == pytest.approx(0.5)
    strategy = Pcs()
    units = [live.unit for live in hall.topology.units.values()]
    strategy.adopt(shape_of(hall.topology.graph), parts_of(units))
    strategy.observe(seen)
    assert strategy.priority[key(cheap)] > 4 * strategy.priority[key(dear)]
