"""Cells of slabs are those of the whole, whatever is read for each."""

import pickle

import numpy as np
import pyarrow as pa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.grid.answers import answered
from penstock.grid.coalesce import coalesced
from penstock.grid.execution import path
from penstock.grid.slabs import NUMBERED, Slabs, extent_of, spread_cells, with_bases
from penstock.grid.space.perspectives import Base, Node, Perspective, empty_base
from penstock.grid.space.rows import as_rows
from penstock.model.grids import NO_WINDOW
from tests.unit.grid.fields import rows, surfaces
from tests.unit.grid.test_execution import close


def bases_of(surface: Node) -> list[Base]:
    found = {
        each: None for node in [*path(surface)] for each in node.sources if isinstance(each, Base)
    }
    return list(found) if isinstance(surface, Perspective) else [surface]


def surveyed(surface: Node) -> tuple[Node, dict[Base, Base]]:
    """Return the tree over bases of which only the reach is known, and what they stand for."""
    known = {}
    for base in bases_of(surface):
        cells = as_rows(base.cells, base.topology)
        if not cells.num_rows:
            known[base] = empty_base(base.name, base.topology)
            continue
        time, lat, lon = (
            np.array(cells["time"].cast(pa.int64())),
            cells["lat"].to_numpy(),
            cells["lon"].to_numpy(),
        )
        low, high = ([f(each) for each in (time, lat, lon)] for f in (np.min, np.max))
        known[base] = extent_of(empty_base(base.name, base.topology), low, high)
    return with_bases(surface, known), {new: old for old, new in known.items()}


@settings(deadline=None, max_examples=80, suppress_health_check=[HealthCheck.too_slow])
@given(surfaces(), st.integers(1, 20))
def test_slabs_give_the_cells_of_the_whole(surface: Node, most: int) -> None:
    plan, stands_for = surveyed(coalesced(surface))

    def spread(slabs: Slabs) -> pa.Table:
        """Do what Spark does, on its readings and a copy of the plan."""
        parts = [NUMBERED.empty_table()]
        copy = pickle.loads(pickle.dumps(slabs))
        for slab in range(len(slabs.regions)):
            found = []
            for row in slabs.ranges.to_pylist():
                if row["slab"] != slab:
                    continue
                base = stands_for[slabs.bases[row["base"]]]
                for cell in as_rows(base.cells, base.topology).to_pylist():
                    there = row["begin"] <= cell["time"] < row["end"]
                    if there and row["south"] <= cell["lat"] <= row["north"]:
                        found.append({"base": row["base"], **cell})
            schema = pa.schema([("base", pa.int32()), *as_rows_schema()])
            if found:
                parts.append(copy.cells(slab, pa.Table.from_pylist(found, schema)))
        return pa.concat_tables(parts)

    def count(base: Base) -> int:
        return len(stands_for[base].cells)

    found = rows(spread_cells(plan, NO_WINDOW, count, spread, most))
    assert close(found, rows(answered(surface)))


def as_rows_schema() -> list[tuple[str, pa.DataType]]:
    return [
        ("time", pa.timestamp("us", "UTC")),
        ("lat", pa.float64()),
        ("lon", pa.float64()),
        ("value", pa.float64()),
    ]
