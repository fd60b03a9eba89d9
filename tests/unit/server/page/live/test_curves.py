from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.server.page.live.curves import EVERY_SECONDS, MOST_POINTS, Curves

UNIT = {"in_per_s": 10.0, "busy": 0.5}


def query(worst: float | None) -> dict[str, Any]:
    return {"p50_ms": None if worst is None else worst / 2, "p99_ms": worst}


def test_a_point_comes_every_twenty_seconds_and_all_reach_ten_minutes_back() -> None:
    curves, taken = Curves(), 0
    for at in range(1_000):
        point = curves.due(float(at), {"q": query(at)}, {"u": UNIT})
        if point is not None:
            curves, taken = curves.with_point(point), taken + 1
    assert taken == 50
    assert (curves.at[0], curves.at[-1]) == (380.0, 980.0)
    assert curves.queries["q"][-1] == (490.0, 980.0)
    assert set(curves.units["u"]) == {(10.0, 0.5)}


def test_a_clock_that_is_set_back_stops_no_curve() -> None:
    point = Curves(at=(1_000.0,)).due(10.0, {}, {})
    assert point is not None


def test_what_has_delivered_nothing_has_a_gap() -> None:
    point = Curves().due(0.0, {"q": query(None)}, {})
    assert point is not None
    assert point.queries == {"q": None}


NAMES = st.sets(st.sampled_from(["a", "b", "c"]))


@given(st.lists(NAMES, min_size=1, max_size=2 * MOST_POINTS))
def test_each_that_is_there_has_a_place_for_every_moment(moments: list[set[str]]) -> None:
    curves = Curves()
    for number, names in enumerate(moments):
        at = number * EVERY_SECONDS
        point = curves.due(at, {name: query(at) for name in names}, {})
        assert point is not None
        curves = curves.with_point(point)
    assert curves.queries.keys() == moments[-1]
    for name, values in curves.queries.items():
        since = next((n for n in range(len(moments), 0, -1) if name not in moments[n - 1]), 0)
        seen = [None if n < since else (n * EVERY_SECONDS / 2, n * EVERY_SECONDS)
                for n in range(len(moments))][-MOST_POINTS:]  # fmt: skip
        assert list(values) == seen
    assert len(curves.at) == min(len(moments), MOST_POINTS)


@pytest.mark.parametrize("count", [1, 3])
def test_a_newcomer_is_told_all(count: int) -> None:
    curves = Curves()
    for number in range(count):
        point = curves.due(number * EVERY_SECONDS, {"q": query(1.0)}, {"u": UNIT})
        assert point is not None
        curves = curves.with_point(point)
    told = curves.told()
    assert len(told["at"]) == len(told["queries"]["q"]) == len(told["units"]["u"]) == count
