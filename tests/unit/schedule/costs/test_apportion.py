import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.schedule.costs.apportion import Border, UnitProfile, apportioned, explained
from penstock.schedule.costs.record import RunRecord

SECONDS = st.floats(0, 0.5)


def unit(cost: float, selectivity: float = 1.0, runs: int = 5) -> RunRecord:
    record = RunRecord()
    for place in range(runs):
        record = record.add(1000, 1000 * selectivity, 1000 * cost, float(place))
    return record


def line(borders: dict[str, Border], *names: str) -> UnitProfile:
    """Return the profile of a line of operators over the leaf `leaf`."""
    inputs = {name: (below,) for below, name in zip(("leaf", *names), names, strict=False)}
    return UnitProfile(inputs, borders, names[-1])


@given(st.lists(SECONDS, min_size=3, max_size=3), st.floats(1e-6, 1e-2))
def test_the_parts_sum_up_to_what_a_tuple_costs(times: list[float], cost: float) -> None:
    first, second, third = times
    borders = {
        "leaf": Border(100, 0.01),
        "a": Border(50, 0.01 + first),
        "b": Border(20, 0.01 + first + second),
        "c": Border(20, 0.01 + first + second + third),
    }
    profile = line(borders, "a", "b", "c")
    shares = apportioned(profile, unit(cost, 0.2))
    total = sum(share.seconds for share in shares.values())
    assert total == pytest.approx(cost, rel=1e-6)
    assert all(share.seconds >= 0 for share in shares.values())


def test_time_is_divided_as_the_profile_saw_it() -> None:
    borders = {"leaf": Border(100, 0.01), "a": Border(50, 0.02), "b": Border(50, 0.05)}
    shares = apportioned(line(borders, "a", "b"), unit(0.001, 0.5))
    assert shares["a"].seconds == pytest.approx(0.00025)
    assert shares["b"].seconds == pytest.approx(0.00075)
    assert shares["b"].cost(1, 0.0).value == pytest.approx(0.0015)  # half the tuples come so far
    assert shares["a"].selectivity(1, 0.0).value == pytest.approx(0.5)
    assert shares["b"].selectivity(1, 0.0).value == pytest.approx(1.0)


def test_a_stateful_operator_has_what_is_left_and_the_units_rows() -> None:
    borders = {"leaf": Border(100, 0.01), "a": Border(50, 0.02)}
    shares = apportioned(line(borders, "a", "windows", "having"), unit(0.001, 0.1))
    assert shares["a"].seconds == pytest.approx(0.0001)
    assert shares["windows"].seconds > 5 * shares["a"].seconds
    assert shares["windows"].rows_in == pytest.approx(0.5)
    assert shares["having"].rows_out == pytest.approx(0.1)
    assert sum(share.seconds for share in shares.values()) == pytest.approx(0.001)


@given(SECONDS, st.floats(1e-6, 1e-2))
def test_a_sample_that_was_dearer_than_runs_leaves_nothing_below_zero(
    first: float, cost: float
) -> None:
    borders = {"leaf": Border(100, 0.0), "a": Border(100, first)}
    shares = apportioned(line(borders, "a", "windows"), unit(cost))
    assert all(share.seconds >= 0 for share in shares.values())
    assert sum(share.seconds for share in shares.values()) == pytest.approx(cost, rel=1e-6)


def test_without_tuples_nothing_is_told() -> None:
    borders = {"leaf": Border(0, 0.01), "a": Border(0, 0.02)}
    profile = line(borders, "a", "b")
    assert apportioned(profile, unit(0.001)) == {}
    assert explained(profile, unit(0.001)) == 0.0


def test_the_share_that_is_explained_is_what_the_profile_found_of_the_cost() -> None:
    borders = {"leaf": Border(100, 0.01), "a": Border(50, 0.02), "b": Border(50, 0.05)}
    assert explained(line(borders, "a", "b"), unit(0.0008)) == pytest.approx(0.5)
