"""Slices of time are those of the whole, whatever comes when."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from penstock.errors import PenstockError
from penstock.grid.answers import answered
from penstock.grid.coalesce import coalesced
from penstock.grid.execution import path
from penstock.grid.reach import is_filled
from penstock.grid.slabs import with_bases
from penstock.grid.slices import SurfaceSlices, refuse_unsliced
from penstock.grid.space.perspectives import Base, Node, empty_base
from penstock.grid.space.rows import CELLS, as_rows
from penstock.model.grids import Window
from penstock.plan.operators import TimeSlices
from tests.examples import examples
from tests.unit.grid.fields import SECOND, surfaces

BOX = (Fraction(-1), Fraction(1))


def bases_of(surface: Node) -> list[Base]:
    if isinstance(surface, Base):
        return [surface]
    found = [each for node in path(surface) for each in node.sources if isinstance(each, Base)]
    return list(dict.fromkeys(found))


def window_of(surface: Node) -> Window:
    box = BOX if is_filled(surface) else None
    time = (Fraction(-20), Fraction(20)) if surface.topology.time.period else None
    return Window(time, box, box)


@settings(deadline=None, max_examples=examples(150), suppress_health_check=[HealthCheck.too_slow])
@given(surfaces(), st.integers(1, 12))
def test_slices_give_the_cells_of_the_whole(surface: Node, every: int) -> None:
    window = window_of(surface)
    try:
        refuse_unsliced(surface, window)
    except PenstockError:
        assume(False)
    bases = bases_of(surface)
    empty = {each: empty_base(each.name, each.topology) for each in bases}
    slices = SurfaceSlices(
        with_bases(coalesced(surface), empty), tuple(empty[each] for each in bases), window
    )
    operator = TimeSlices((), (), (), window, surface.topology.time)
    readings = [as_rows(each.cells, each.topology).drop_columns(["reason"]) for each in bases]
    found, reached = [CELLS.empty_table()], operator.open_at(-60 * SECOND)
    for mark in range(-50, 60, every):
        corner = max(reached, operator.open_at(mark * SECOND))
        if corner > reached:
            # Only what a slice to be given needs: it is what the state still has.
            there = [between(each, reached, operator.end_before(corner)) for each in readings]
            found.append(slices.cells(there, reached, corner))
        reached = corner
    expected = as_rows(answered(surface, window), surface.topology)
    together = pa.concat_tables(found)
    assert together.drop_columns(["value"]) == expected.drop_columns(["value"])
    np.testing.assert_allclose(together["value"], expected["value"], rtol=1e-9)


def between(table: pa.Table, first: int, past: int) -> pa.Table:
    time = table["time"].cast(pa.int64())
    return table.filter(pc.and_(pc.greater_equal(time, first), pc.less(time, past)))


@given(surfaces(), st.integers(-100 * SECOND, 100 * SECOND))
def test_a_slice_is_complete_at_its_end_and_no_sooner(surface: Node, mark: int) -> None:
    axis = surface.topology.time
    assume(axis.period is None)
    operator = TimeSlices((), (), (), Window(), axis)
    corner, step, size = operator.open_at(mark), int(axis.step) * SECOND, int(axis.size) * SECOND
    assert corner + size > mark >= corner - step + size
    assert operator.end_before(corner) == corner - step + size
    assert operator.end_of(corner) == corner + size
    assert operator.first_from(corner) == corner
    assert corner - step < operator.first_from(corner - step + 1) <= corner
    assert operator.after(mark) > mark >= operator.after(mark) - step
