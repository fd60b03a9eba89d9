from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import BadGridError
from penstock.grid.space.nesting import nesting
from penstock.grid.space.spans import span
from penstock.model.grids import Axis

SOURCE = Axis(Fraction(1, 3))
counts = st.integers(1, 6)


@given(counts, counts, st.integers(-7, 7))
def test_a_source_cell_belongs_to_the_cells_that_contain_it(
    step: int, size: int, origin: int
) -> None:
    target = Axis(SOURCE.step * step, SOURCE.step * size, SOURCE.step * origin)
    nested = nesting("time", target, SOURCE)
    numbers = np.arange(-15, 15)
    found = {
        (int(number), int(cell))
        for cells, there in nested.targets(numbers)
        for number, cell in zip(numbers[there], cells[there], strict=True)
    }
    for number in numbers.tolist():
        low = SOURCE.step * number
        for cell in range(-30, 30):
            at = target.origin + target.step * cell
            assert ((number, cell) in found) == (
                at <= low and low + SOURCE.step <= at + target.size
            )


@given(counts, counts, st.integers(-7, 7), st.integers(-9, 9), st.integers(0, 9))
def test_the_sources_of_cells_are_those_that_belong_to_them(
    step: int, size: int, origin: int, first: int, count: int
) -> None:
    target = Axis(SOURCE.step * step, SOURCE.step * size, SOURCE.step * origin)
    nested = nesting("time", target, SOURCE)
    held = nested.sources(span(first, first + count))
    every = np.arange(-90, 90)
    for cells, there in nested.targets(every):
        wanted = there & (cells >= first) & (cells < first + count)
        assert held.holds(every[wanted]).all()


@given(counts, counts, st.integers(-7, 7), st.integers(-9, 9), st.integers(1, 9))
def test_the_reach_is_the_cells_that_hold_something(
    step: int, size: int, origin: int, first: int, count: int
) -> None:
    target = Axis(SOURCE.step * step, SOURCE.step * size, SOURCE.step * origin)
    nested = nesting("time", target, SOURCE)
    inside = nested.targets(np.arange(first, first + count))
    cells = {int(each) for targets, there in inside for each in targets[there]}
    reached = set(nested.reached(span(first, first + count)).numbers().tolist())
    assert cells <= reached
    if size >= step:
        assert cells == reached


def test_an_hour_of_the_day_has_a_block_a_day() -> None:
    hour, day = Fraction(3600), Fraction(86_400)
    nested = nesting("time", Axis(hour, period=day), Axis(Fraction(600))).within(0, 144 * 3)
    sources = nested.sources(span(14, 15)).numbers().tolist()
    assert sources == [144 * each + 84 + tenth for each in range(3) for tenth in range(6)]
    ((cells, there),) = nested.targets(np.array([84, 89, 90, 144 + 84, 3 * 144 + 84, -1]))
    assert cells[:4].tolist() == [14, 14, 15, 14]
    assert there.tolist() == [True, True, True, True, False, False]


@pytest.mark.parametrize(
    ("target", "source"),
    [
        (Axis(Fraction(7)), Axis(Fraction(2))),
        (Axis(Fraction(4), origin=Fraction(1)), Axis(Fraction(2))),
        (Axis(Fraction(4), size=Fraction(3)), Axis(Fraction(2))),
        (Axis(Fraction(8)), Axis(Fraction(2), size=Fraction(4))),
        (Axis(Fraction(8)), Axis(Fraction(2), period=Fraction(4))),
    ],
)
def test_cells_that_do_not_nest_are_refused(target: Axis, source: Axis) -> None:
    with pytest.raises(BadGridError) as refused:
        nesting("time", target, source)
    assert refused.value.hint


@pytest.mark.parametrize(
    "wrong",
    [
        {"step": Fraction(0)},
        {"step": Fraction(2), "size": Fraction(-1)},
        {"step": Fraction(2), "period": Fraction(3)},
        {"step": Fraction(2), "size": Fraction(3), "period": Fraction(4)},
    ],
)
def test_axes_that_cannot_be_are_refused(wrong: dict[str, Fraction]) -> None:
    with pytest.raises(BadGridError):
        Axis(**wrong)
