"""The data functions that keep the cells: convert and merge (5.2, 5.3)."""

from collections.abc import Sequence

import numpy as np

from penstock.grid.functions.formulas import evaluated
from penstock.grid.space.cells import Bytes, Cells, Floats, Reason, order_of, runs
from penstock.model.grids import Formula


def converted(cells: Cells, formula: Formula | None) -> Cells:
    """Return the cells with a formula's values; a cell that was NULL for a reason keeps it."""
    if formula is None or not len(cells):
        return cells
    value = evaluated(formula, {"value": cells.value})
    return cells.with_values(value, reasons(value, cells.reason))


def reasons(value: Floats, before: Bytes) -> Bytes:
    """Return why values are NULL: as before, or because a formula made them so."""
    told = np.where(before == Reason.NONE, np.int8(Reason.CLEANED), before)
    return np.where(np.isnan(value), told, np.int8(Reason.NONE)).astype(np.int8)


def merged(parts: Sequence[Cells], names: Sequence[str], formula: Formula) -> Cells:
    """Return the cells that any source has, by a formula over the sources' names."""
    if not any(map(len, parts)):
        return parts[0]
    columns = zip(*((*each.numbers, each.value, each.reason) for each in parts), strict=True)
    time, lat, lon, value, reason = map(np.concatenate, columns)
    source = np.repeat(np.arange(len(parts)), [len(each) for each in parts])
    order = order_of(time, lat, lon)
    time, lat, lon, value, reason, source = (
        each[order] for each in (time, lat, lon, value, reason, source)
    )
    begins = runs(time, lat, lon)
    cell = np.repeat(np.arange(len(begins)), np.diff(np.append(begins, len(time))))
    table = np.full((len(parts), len(begins)), np.nan)
    table[source, cell] = value
    result = evaluated(formula, dict(zip(names, table, strict=True)))
    why = reasons(result, np.maximum.reduceat(reason, begins))
    return Cells(time[begins], lat[begins], lon[begins], result, why)
