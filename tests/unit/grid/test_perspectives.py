from fractions import Fraction

import numpy as np
import pytest

from penstock.errors import BadGridError
from penstock.grid.answers import answered, explained
from penstock.grid.space.cells import Reason
from penstock.grid.space.perspectives import base_of
from penstock.model.grids import (
    VALUE,
    Aggregate,
    Axis,
    Constant,
    Convert,
    Interpolate,
    Merge,
    Method,
    Operation,
    Topology,
    Variable,
    Window,
)
from tests.unit.grid.fields import field_of, perspective, rows

ARCSECOND = Fraction(1, 3600)
MINUTE = Axis(Fraction(60))
KEEP = Convert(VALUE)


def test_readings_stand_in_the_cell_of_their_place_and_time() -> None:
    places = Axis(ARCSECOND)
    lat = np.array([45.0 + 7 / 3600, 45.0 + 7.5 / 3600, -1 / 7200])
    time = np.array([1_500_000, 2_999_999, -1], np.int64)
    base = base_of("b", Topology(Axis(Fraction(1)), places, places), (time, lat, lat, lat))
    assert base.cells.time.tolist() == [-1, 1, 2]
    assert base.cells.lat.tolist() == [-1, 162_007, 162_007]


def test_a_reading_on_a_corner_is_on_it_however_its_degrees_were_rounded() -> None:
    number = np.arange(100_000, 170_000)
    degrees = number / 3600
    time, value = np.zeros(len(number), np.int64), np.ones(len(number))
    topology = Topology(Axis(Fraction(1)), Axis(ARCSECOND), Axis(ARCSECOND))
    base = base_of("b", topology, (time, degrees, np.zeros(len(number)), value))
    assert (base.cells.lat == number).all()


def test_readings_that_differ_leave_their_cell_null() -> None:
    base = field_of([(0, 0, 0, 1.0), (0, 0, 0, 2.0), (1, 0, 0, 3.0), (1, 0, 0, 3.0)])
    assert rows(base.cells) == {(0, 0, 0): None, (1, 0, 0): 3.0}
    assert base.cells.reason.tolist() == [Reason.TWO_READINGS, Reason.NONE]


def test_what_has_no_place_or_value_is_left_out() -> None:
    nan = float("nan")
    assert len(field_of([(0, 0, 0, nan), (1, 0, 0, 1.0)]).cells) == 1


def test_cells_of_which_all_are_null_say_so() -> None:
    """NaN everywhere: a reason, not a failure."""
    base = field_of([(0, 0, 0, -999.0), (30, 0, 0, -999.0), (60, 0, 0, 4.0)])
    clean = perspective("clean", Convert(Operation("nullif", (VALUE, Constant(-999.0)))), base)
    node = perspective("avg", Aggregate("avg"), clean, time=MINUTE)
    cells = answered(node)
    assert rows(cells) == {(0, 0, 0): None, (1, 0, 0): 4.0}
    assert cells.reason.tolist() == [Reason.ALL_NULL, Reason.NONE]
    counts = perspective("count", Aggregate("count"), clean, time=MINUTE)
    assert rows(answered(counts)) == {(0, 0, 0): 0.0, (1, 0, 0): 1.0}


def test_a_merge_has_the_cells_that_any_source_has() -> None:
    rain, sun = (
        field_of([(0, 0, 0, 1.0), (1, 0, 0, 2.0)], "rain"),
        field_of([(1, 0, 0, 5.0)], "sun"),
    )
    both = Operation("*", (Variable("rain"), Variable("sun")))
    cells = answered(perspective("p", Merge(both), rain, sun))
    assert rows(cells) == {(0, 0, 0): None, (1, 0, 0): 10.0}
    assert cells.reason.tolist() == [Reason.CLEANED, Reason.NONE]


def test_explain_tells_the_rewriting_the_costs_and_the_choice() -> None:
    base = field_of([(60 * at, at % 4, at % 3, float(at)) for at in range(200)])
    clean = perspective("clean", KEEP, base)
    aligned = perspective("aligned", Aggregate("avg"), clean, time=MINUTE)
    space = {"lat": Axis(Fraction(1, 5)), "lon": Axis(Fraction(1, 5))}
    surface = perspective("map", Interpolate(Method("idw", 8, 900.0)), aligned, **space)
    text = explained(surface)
    assert "map: ⟨60s × 1/5° × 1/5°, interpolate by idw, 8 nearest within 900 m⟩" in text
    assert "aligned: ⟨60s × 1/10° × 1/10°, aggregate avg, convert before it, *⟩" in text
    assert "coalesced: clean" in text
    assert text.count("<- chosen") == 1
    assert "hybrid-2" in text
    assert "hybrid-3" not in text


@pytest.mark.parametrize(
    ("function", "axes"),
    [
        (KEEP, {"time": MINUTE}),
        (Aggregate("avg"), {"time": Axis(Fraction(3, 2))}),
        (Interpolate(Method("idw")), {"time": MINUTE}),
        (Interpolate(Method("idw")), {"lat": Axis(Fraction(1), period=Fraction(2))}),
        (Merge(VALUE), {"time": MINUTE}),
    ],
)
def test_what_does_not_fit_is_refused(function: object, axes: dict[str, Axis]) -> None:
    with pytest.raises(BadGridError) as refused:
        perspective("p", function, field_of([(0, 0, 0, 1.0)]), **axes)
    assert refused.value.code == "BAD_GRID"


def test_a_merge_of_other_cells_is_refused() -> None:
    base = field_of([(0, 0, 0, 1.0)])
    coarse = perspective("coarse", Aggregate("avg"), base, time=MINUTE)
    with pytest.raises(BadGridError):
        perspective("p", Merge(Variable("base")), base, coarse)


@pytest.mark.parametrize(
    "bounds", [(Fraction(2), Fraction(2)), (Fraction(3), Fraction(2)), (Fraction(1), Fraction(59))]
)
def test_a_window_without_cells_is_refused(bounds: tuple[Fraction, Fraction]) -> None:
    node = perspective("p", Aggregate("avg"), field_of([(0, 0, 0, 1.0)]), time=MINUTE)
    with pytest.raises(BadGridError) as refused:
        answered(node, Window(bounds))
    assert refused.value.hint


@pytest.mark.parametrize(
    "wrong",
    [{"neighbours": 2}, {"power": 0.0}, {"radius": -1.0}, {"fewest": 2}, {"fewest": 17}],
)
def test_methods_that_cannot_be_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(BadGridError):
        Method("kriging", **wrong)  # type: ignore[arg-type]


def test_without_readings_there_are_no_cells() -> None:
    clean = perspective("clean", KEEP, field_of([]))
    aligned = perspective("aligned", Aggregate("avg"), clean, time=MINUTE)
    space = {"lat": Axis(Fraction(1, 5)), "lon": Axis(Fraction(1, 5))}
    surface = perspective("map", Interpolate(Method("kriging")), aligned, **space)
    assert len(answered(surface)) == 0
    assert "0 cells" in explained(surface)
