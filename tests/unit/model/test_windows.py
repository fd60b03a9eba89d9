from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import BadWindowError
from penstock.model.windows import RangeWindow, RowsWindow, SessionWindow

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
    wanted = size > zero and (slide is None or zero < slide <= size)
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
