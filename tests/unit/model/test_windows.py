from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import BadWindowError
from penstock.model.windows import (
    GenericWindow,
    LandmarkWindow,
    RangeWindow,
    RowsWindow,
    SessionWindow,
)
from tests.examples import examples

DAY = timedelta(days=1)
DAY_ONE = datetime(2026, 1, 1, tzinfo=UTC)
SPANS = st.timedeltas(timedelta(days=-2), timedelta(days=2))


def stands(make: type, *arguments: object) -> bool:
    try:
        make(*arguments)
    except BadWindowError:
        return False
    return True


@given(SPANS, st.none() | SPANS)
@settings(deadline=None)
def test_a_range_is_above_zero_and_moves_by_no_more_than_its_size(
    size: timedelta, slide: timedelta | None
) -> None:
    zero = timedelta(0)
    wanted = size > zero and (slide is None or zero < slide)
    assert stands(RangeWindow, size, slide) == wanted


@given(st.integers(-3, 9), st.none() | st.integers(-3, 9))
@settings(deadline=None)
def test_rows_are_at_least_one_and_move_by_no_more_than_their_number(
    rows: int, slide: int | None
) -> None:
    assert stands(RowsWindow, rows, slide) == (rows >= 1 and (slide is None or 1 <= slide <= rows))


@given(SPANS)
@settings(deadline=None)
def test_a_gap_is_above_zero(gap: timedelta) -> None:
    assert stands(SessionWindow, gap) == (gap > timedelta(0))


def test_windows_are_data_that_compares() -> None:
    assert RangeWindow(timedelta(1)) == RangeWindow(timedelta(days=1))
    with pytest.raises(AttributeError):
        RangeWindow(timedelta(1)).size = timedelta(2)  # type: ignore[misc]


NUMBERS = st.integers(-3, 9)
STEPS = st.integers(-3, 3)


def sensible(begin: int, end: int, hops: tuple[int, int], until: int | None) -> bool:
    """The law of decision 0006, on tuple numbers."""
    lower, upper = hops
    if begin < 1 or end < begin or lower * upper < 0:
        return False
    if upper < 0:
        return until is None or until < (begin if lower else end)
    if lower < 0 or (lower == upper == 0 and until is None):
        return False
    return until is None or until >= end


@given(NUMBERS, NUMBERS, st.tuples(STEPS, STEPS), st.none() | NUMBERS)
@settings(deadline=None, max_examples=examples(1000))
def test_a_generic_window_holds_something_moves_one_way_and_ends_behind_its_first(
    begin: int, end: int, hops: tuple[int, int], until: int | None
) -> None:
    assert stands(GenericWindow, begin, end, *hops, until) == sensible(begin, end, hops, until)


@given(st.integers(1, 9), st.integers(1, 9), st.tuples(STEPS, STEPS), st.none() | NUMBERS)
@settings(deadline=None, max_examples=examples(500))
def test_a_window_of_time_follows_the_same_law_and_is_not_empty(
    begin: int, end: int, hops: tuple[int, int], until: int | None
) -> None:
    at, by = (lambda n: DAY_ONE + n * DAY), (lambda n: n * DAY)
    last = None if until is None else at(until)
    wanted = begin != end and sensible(begin, end, hops, until)
    assert stands(GenericWindow, at(begin), at(end), *map(by, hops), last) == wanted


@pytest.mark.parametrize(
    "arguments",
    [
        (1, DAY_ONE, 1, 1),
        (1, 2, DAY, DAY),
        (1, 2, 1, DAY),
        (1, 2, 1, 1, DAY_ONE),
        (DAY_ONE, DAY_ONE + DAY, 1, 1),
        (DAY_ONE, DAY_ONE + DAY, DAY, DAY, 3),
        (DAY_ONE.replace(tzinfo=None), DAY_ONE + DAY, DAY, DAY),
    ],
)
def test_times_and_tuple_numbers_do_not_mix(arguments: tuple[object, ...]) -> None:
    assert not stands(GenericWindow, *arguments)


@given(NUMBERS, STEPS)
@settings(deadline=None)
def test_a_landmark_s_end_grows_from_a_tuple_that_can_be(start: int, every: int) -> None:
    assert stands(LandmarkWindow, start, every) == (start >= 1 and every > 0)
    assert stands(LandmarkWindow, DAY_ONE, every * DAY) == (every > 0)
    assert not stands(LandmarkWindow, start, every * DAY)
    assert not stands(LandmarkWindow, DAY_ONE, every)


def test_a_window_is_reverse_when_an_end_goes_back() -> None:
    assert GenericWindow(5, 9, -1, -1).is_reverse
    assert GenericWindow(5, 9, 0, -1).is_reverse
    assert not GenericWindow(5, 9, 0, 1).is_reverse
    assert not GenericWindow(5, 9, 1, 0).is_reverse


def test_a_window_that_is_refused_says_what_to_do() -> None:
    for arguments in [(0, 1, 1, 1), (1, 2, 1, -1), (1, 2, 0, 0), (1, 2, -1, 0), (3, 4, -1, -1, 3)]:
        with pytest.raises(BadWindowError) as caught:
            GenericWindow(*arguments)
        assert caught.value.hint
