"""The partials that a state keeps: parts, let go of as their panes pass."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from penstock.engine.states.parts import Part
from penstock.engine.trains.rows import SMALL_ROWS, Rows, in_memory, value_bytes
from penstock.plan.operators.windows.window_aggregate import PANE


@dataclass(slots=True)
class KeptPartials:
    """All parts of a state; `owned` are those that members brought along, by their roots.

    `gone` are parts that were let go of, or replaced: their files stay until a run counts, since
    one that fails is done again with them.
    """

    parts: list[Part] = field(default_factory=list)
    owned: dict[str, list[Part]] = field(default_factory=dict)
    gone: list[Part] = field(default_factory=list)

    @property
    def all(self) -> list[Part]:
        """Return the parts of everybody."""
        return [*self.parts, *(part for parts in self.owned.values() for part in parts)]

    def spread(self, new: Part | None = None) -> tuple[int, int] | None:
        """Return the first and the last pane that there is, with `new` counted in."""
        parts = [*self.all, *([new] if new is not None else [])]
        if not parts:
            return None
        return min(part.first for part in parts), max(part.last for part in parts)

    def let_go(self, before: int, new: Part | None = None) -> None:
        """Drop the parts whose panes all lie before a place, and such panes of the newest part.

        Older parts stay as they are: whether Arrow or Spark closes windows goes by how many
        partials there are, and what a checkpoint has written meanwhile must make no difference.
        """
        self.gone = [*self.gone, *(part for part in self.all if part.first < before)]
        self.parts = [
            from_pane(part, before) if part is new else part
            for part in self.parts
            if part.last >= before
        ]
        owned = {n: [p for p in parts if p.last >= before] for n, parts in self.owned.items()}
        self.owned = {name: parts for name, parts in owned.items() if parts}

    def replace(self, parts: Sequence[Part], partials: pa.Table, level: int) -> None:
        """Put partials in the place of the parts that they were made of."""
        self.exchange(parts, [part_of(partials, level)] if partials.num_rows else [])

    def exchange(self, parts: Sequence[Part], made: Sequence[Part]) -> None:
        """Put other parts in the place of those that they were made of."""
        ids = {id(part) for part in parts}
        rest = [part for part in self.parts if id(part) not in ids]
        self.parts, self.gone = [*rest, *made], [*self.gone, *parts]

    def delete_gone(self) -> None:
        """Remove the files of parts that are no more; members may have brought the same ones."""
        here = {id(part.rows) for part in self.all}
        gone, self.gone = self.gone, []
        for part in gone:
            if id(part.rows) not in here:
                part.rows.delete()


def part_of(partials: pa.Table, level: int = 0) -> Part:
    """Return a part of partials, which are not none, held in memory."""
    span = pc.min_max(partials[PANE]).as_py()
    size = value_bytes(partials) if partials.num_rows > SMALL_ROWS else 0
    return Part(in_memory(partials), span["min"], span["max"], level, size=size)


def within(parts: Sequence[Part], low: int, high: int) -> list[Rows]:
    """Return the rows of the parts with panes from `low` to before `high`."""
    return [part.rows for part in parts_within(parts, low, high)]


def parts_within(parts: Sequence[Part], low: int, high: int) -> list[Part]:
    """Return the parts with panes from `low` to before `high`."""
    return [part for part in parts if part.first < high and part.last >= low]


def from_pane(part: Part, pane: int) -> Part:
    """Return the part without the panes before `pane`, where it is not in partitions."""
    if part.first >= pane or part.partitions:
        return part
    table = table_of(part.rows)
    return part_of(table.filter(pc.greater_equal(table[PANE], pane)), part.level)


def table_of(rows: Rows) -> pa.Table:
    """Return the rows as Arrow with the schema they have."""
    if rows.table is not None:
        return rows.table
    return pa.concat_tables([pq.ParquetFile(path).read() for path in rows.paths])
