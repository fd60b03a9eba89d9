import pytest

from penstock.runtime.statistics import Statistics


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
