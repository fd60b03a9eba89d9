"""Parts: partials as they came, combined level by level, and let go pane by pane."""

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from penstock.engine.trains.rows import COMPACT_PARTS, Rows, in_memory
from penstock.plan.operators.windows.window_aggregate import PANE


@dataclass(frozen=True, slots=True)
class Part:
    """Some partials, and the panes they span."""

    rows: Rows
    first_pane: int
    last_pane: int
    level: int = 0


def part_of(partials: pa.Table, level: int = 0) -> Part:
    """Return a part of partials, which are not none, held in memory."""
    span = pc.min_max(partials[PANE]).as_py()
    return Part(in_memory(partials), span["min"], span["max"], level)


def spread_of(parts: Sequence[Part]) -> tuple[int, int] | None:
    """Return the first and the last pane of all parts."""
    if not parts:
        return None
    return min(part.first_pane for part in parts), max(part.last_pane for part in parts)


def within(parts: Sequence[Part], low: int, high: int) -> list[Rows]:
    """Return the rows of the parts with panes from `low` to before `high`."""
    return [part.rows for part in parts if part.first_pane < high and part.last_pane >= low]


def from_pane(part: Part, pane: int) -> Part:
    """Return the part without the panes before `pane`, where that needs no reading."""
    table = part.rows.table
    if part.first_pane >= pane or table is None or part.rows.paths:
        return part
    return part_of(table.filter(pc.greater_equal(table[PANE], pane)), part.level)


def to_combine(parts: Sequence[Part]) -> list[Part]:
    """Return the parts of one level once there are many, newest levels first.

    Levels keep the work low: a partial is combined again only once per level.
    """
    for level in range(max((part.level for part in parts), default=0) + 1):
        found = [part for part in parts if part.level == level]
        if len(found) >= COMPACT_PARTS:
            return found
    return []


def table_of(rows: Rows) -> pa.Table:
    """Return the rows as Arrow with the schema they have."""
    if rows.table is not None:
        return rows.table
    return pa.concat_tables([pq.ParquetFile(path).read() for path in rows.paths])
