import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.schedule.costs.observation import HALF_LIFE_SECONDS
from penstock.schedule.costs.record import Passed, RunRecord

COST = st.floats(1e-6, 1e-2)
FIXED = st.floats(0, 0.5)
ROWS = st.lists(st.integers(1, 10_000), min_size=5, max_size=20)


def recorded(runs: list[tuple[float, float, float]], gap: float = 1.0) -> RunRecord:
    record = RunRecord()
    for place, (rows_in, rows_out, seconds) in enumerate(runs):
        record = record.add(rows_in, rows_out, seconds, place * gap)
    return record


@given(COST, st.floats(0, 3), ROWS)
def test_what_costs_the_same_every_time_is_found_whatever_the_trains(
    cost: float, selectivity: float, rows: list[int]
) -> None:
    record = recorded([(n, selectivity * n, cost * n) for n in rows])
    assert record.cost.value == pytest.approx(cost)
    assert record.selectivity.value == pytest.approx(selectivity)
    assert record.error < 1e-4
    assert record.ever == len(rows)


@given(COST, FIXED, ROWS)
def test_what_every_run_costs_is_told_apart_from_its_tuples(
    cost: float, fixed: float, rows: list[int]
) -> None:
    record = recorded([(n, n, fixed + cost * n) for n in rows], gap=0.1)
    if max(rows) < 2 * min(rows):
        return  # runs too much alike tell nothing
    scale = fixed + cost * max(rows)
    assert record.run_seconds == pytest.approx(fixed, abs=0.02 * scale)


@given(st.lists(st.tuples(st.integers(0, 99), st.floats(0, 9)), max_size=10), st.floats(0, 1e6))
def test_a_record_never_gives_what_is_no_figure(
    runs: list[tuple[int, float]], later: float
) -> None:
    record = recorded([(n, n, seconds) for n, seconds in runs]).decayed(later)
    for average in (record.cost, record.selectivity):
        assert math.isfinite(average.or_else(1.0))
        assert average.or_else(1.0) >= 0
        assert 0 <= average.confidence <= 1
    assert record.error >= 0
    assert 0 <= record.run_seconds < math.inf


@pytest.mark.parametrize("bad", [math.nan, math.inf, -1.0])
def test_what_is_no_figure_changes_nothing(bad: float) -> None:
    record = recorded([(10, 5, 0.1)])
    assert record.add(bad, 1, 1, 5.0) == record
    assert record.add(1, bad, 1, 5.0) == record
    assert record.add(1, 1, bad, 5.0) == record
    assert record.spent(bad) == record


def test_what_was_long_ago_counts_little() -> None:
    record = recorded([(100, 100, 1.0)]).add(100, 0, 3.0, HALF_LIFE_SECONDS * 10)
    assert record.cost.value == pytest.approx(0.03, rel=0.01)
    assert record.selectivity.value < 0.01


@given(st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99), st.floats(0, 9)), max_size=5))
def test_a_record_survives_a_checkpoint(runs: list[tuple[int, int, float]]) -> None:
    record = recorded(list(runs))
    assert RunRecord.back(record.kept()) == record


@pytest.mark.parametrize("kept", [[], [1.0] * 3, [math.nan] * 9, [-1.0] * 9])
def test_what_cannot_be_a_record_begins_anew(kept: list[float]) -> None:
    assert RunRecord.back(kept) == RunRecord()


@given(st.floats(0.05, 2), st.integers(1, 500), st.integers(20, 400))
def test_a_steady_rate_is_found(gap: float, rows: int, trains: int) -> None:
    passed = Passed()
    for number in range(trains):
        passed = passed.add(rows, rows * 8, number * gap)
    rate = passed.rate(trains * gap)
    assert rate.value == pytest.approx(rows / gap, rel=0.06)
    assert passed.tuple_bytes.value == pytest.approx(8)


def test_a_stream_that_falls_silent_has_less_and_less_of_a_rate() -> None:
    passed = Passed().add(100, 800, 0.0).add(100, 800, 1.0)
    rates = [passed.rate(at).value for at in (2.0, 20.0, 200.0, 2000.0)]
    assert rates == sorted(rates, reverse=True)
    assert Passed().rate(5.0).weight == 0
