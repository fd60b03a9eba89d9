"""However a surface is computed, its cells are the same."""

from fractions import Fraction

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.grid.answers import answered
from penstock.grid.coalesce import coalesced
from penstock.grid.execution import Execution, Strategy, path
from penstock.grid.space.perspectives import Base, Node, Perspective
from penstock.model.grids import Aggregate, Axis, Convert, Interpolate, Method, Window
from tests.unit.grid.fields import field_of, formulas, perspective, rows, surfaces

several = settings(deadline=None, max_examples=80, suppress_health_check=[HealthCheck.too_slow])
windows = st.one_of(
    st.just(Window()),
    st.tuples(st.integers(-40, 20), st.integers(1, 40)).map(
        lambda each: Window((Fraction(each[0]), Fraction(each[0] + each[1])))
    ),
)


def whole(surface: Node) -> dict[tuple[int, int, int], float | None]:
    """Return a surface made top-down, without any rewriting."""
    return rows(Execution(surface, strategy=Strategy(top=len(path(surface)))).cells())


def close(one: dict[tuple[int, int, int], float | None], other: object) -> bool:
    """Compare cells within floating error."""
    assert isinstance(other, dict)
    if one.keys() != other.keys():
        return False
    left = np.array([np.nan if each is None else each for each in one.values()])
    right = np.array([np.nan if other[key] is None else other[key] for key in one])
    return bool(np.allclose(left, right, rtol=1e-9, atol=1e-9, equal_nan=True))


@several
@given(surfaces(), st.integers(0, 5), st.integers(1, 6), st.booleans())
def test_every_strategy_gives_the_same_cells(
    surface: Node, top: int, blocks: int, buffered: bool
) -> None:
    found = rows(Execution(surface, strategy=Strategy(top, buffered, blocks)).cells())
    assert close(found, whole(surface))


@several
@given(surfaces())
def test_coalescing_changes_no_cell(surface: Node) -> None:
    assert close(rows(answered(surface)), whole(surface))
    assert len(path(coalesced(surface))) <= len(path(surface))


@several
@given(surfaces())
def test_no_convert_is_left_but_one_that_stands_alone(surface: Node) -> None:
    left = path(coalesced(surface))
    converts = [each for each in left if isinstance(each.function, Convert)]
    assert not converts or (left == converts and isinstance(left[0].sources[0], Base))


@several
@given(surfaces(), windows)
def test_a_window_returns_those_cells_whose_corner_is_in_it(surface: Node, window: Window) -> None:
    axis = surface.topology.time
    assert window.time is None or isinstance(window.time, tuple)
    if window.time is None or _scattered(surface):
        return
    low, high = window.time
    if -((axis.origin - low) // axis.step) >= -((axis.origin - high) // axis.step):
        return  # it holds no cell's corner, and is refused
    every = whole(surface)
    inside = {
        cell: value
        for cell, value in every.items()
        if low <= axis.origin + axis.step * cell[0] < high
    }
    assert close(rows(answered(surface, window)), inside)


@several
@given(surfaces(), formulas())
def test_what_is_null_has_a_reason_and_what_is_not_has_none(surface: Node, formula: object) -> None:
    node = perspective("last", Convert(formula), surface)  # type: ignore[arg-type]
    cells = answered(node)
    assert ((cells.reason != 0) == np.isnan(cells.value)).all()
    assert not np.isinf(cells.value).any()
    assert len(rows(cells)) == len(cells)


def test_overlapping_cells_are_computed_once_for_all_blocks() -> None:
    """Q5 in small: 15-minute averages every 5 minutes; two thirds of the input are shared."""
    readings = [(60 * minute, minute % 3, 0, float(minute)) for minute in range(240)]
    aligned = perspective("aligned", Aggregate("avg"), field_of(readings), time=Axis(Fraction(60)))
    sliding = Axis(Fraction(300), Fraction(900))
    surface = perspective("q5", Aggregate("avg"), aligned, time=sliding)
    made = {}
    for buffered in (False, True):
        execution = Execution(surface, strategy=Strategy(0, buffered, 48))
        execution.cells()
        made[buffered] = execution.work[aligned].cells
    assert made[True] == 240
    assert made[False] > 2.5 * made[True]


def test_a_buffer_holds_only_what_the_next_block_needs() -> None:
    readings = [(60 * minute, 0, 0, 1.0) for minute in range(600)]
    aligned = perspective("aligned", Aggregate("avg"), field_of(readings), time=Axis(Fraction(60)))
    sliding = Axis(Fraction(300), Fraction(900))
    surface = perspective("q5", Aggregate("avg"), aligned, time=sliding)
    execution = Execution(surface, strategy=Strategy(0, buffered=True, blocks=60))
    kept = [execution.buffered_cells for _ in execution.blocks()]
    assert max(kept) <= 15 + 15 + 10
    assert execution.buffered_cells == 0


def test_a_slice_is_fitted_once_however_often_it_is_pulled() -> None:
    rng = np.random.default_rng(5)
    places = [(int(lat), int(lon)) for lat, lon in rng.integers(-50, 50, (12, 2))]
    readings = [(0, lat, lon, lat / 10 + rng.normal()) for lat, lon in dict.fromkeys(places)]
    axes = {"lat": Axis(Fraction(1)), "lon": Axis(Fraction(1))}
    surface = perspective("map", Interpolate(Method("kriging")), field_of(readings), **axes)
    assert isinstance(surface, Perspective)
    execution = Execution(surface, strategy=Strategy(0, buffered=False, blocks=5))
    execution.cells()
    assert execution.work[surface].pulls == 5
    assert len(execution._fits[surface].known) == 1


def _scattered(node: Node) -> bool:
    own = any(axis.period for axis in node.topology.axes)
    return own or (isinstance(node, Perspective) and any(map(_scattered, node.sources)))
