"""Bases and perspectives in the FROM of a one-time SELECT: their cells, computed for it."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from penstock.engine.allowed import Allowed
from penstock.errors import BadGridError, PenstockError
from penstock.grid.reader import extra
from penstock.grid.space.perspectives import Base, Node, base_of, derived
from penstock.grid.space.rows import as_rows, readings_in
from penstock.model.definitions import Connector
from penstock.model.grids import NO_WINDOW, BaseDefinition, Window
from penstock.model.own_names import own
from penstock.model.schema import quoted
from penstock.plan.select.once import Clipped, clips_as_names
from penstock.runtime.names.directory import Directory, KnownBase, KnownGrid
from penstock.sql import parse_select

Answer = Callable[[Any], pa.Table]
_numbers = itertools.count()


@dataclass(slots=True)
class CellReader:
    """Computes cells for one statement, in which each base is read once.

    `answer` runs a SELECT over what is there now.
    """

    directory: Directory
    allowed: Callable[[], Allowed]
    answer: Answer
    nodes: dict[str, Node] = field(default_factory=dict)

    def called(self, select: Any) -> tuple[Any, dict[str, pa.Table]]:
        """Return a SELECT in which bases and perspectives are names, and the cells of each."""
        found: dict[str, pa.Table] = {}

        def named(clipped: Clipped) -> str | None:
            known = self.directory.get(clipped.name)
            if not isinstance(known, KnownGrid):
                if clipped.window is None:
                    return None
                raise BadGridError(
                    f"{clipped.name} is no base or perspective, so it has no cells",
                    hint="WITHIN is a perspective's window; of rows, ask by WHERE",
                    place=clipped.place,
                )
            name = own(f"cells_{next(_numbers)}")
            try:
                found[name] = self.cells(clipped.name, clipped.window or NO_WINDOW)
            except PenstockError as error:
                error.place = error.place or clipped.place
                raise
            return name

        return clips_as_names(select, named), found

    def cells(self, name: str, window: Window) -> pa.Table:
        """Return a base's or a perspective's cells in a window."""
        surface = self.node(name)
        return as_rows(_computing().answered(surface, window), surface.topology)

    def explained(self, name: str, window: Window) -> str:
        """Return how the cells are computed."""
        text: str = _computing().explained(self.node(name), window)
        return text

    def node(self, name: str) -> Node:
        """Return a base with its readings, or a perspective over what it reads."""
        known = self.directory.grid(name)
        held = self.nodes.get(name.lower())
        if held is None:
            if isinstance(known, KnownBase):
                held = self._base(known.definition)
            else:
                held = derived(
                    known.definition, [self.node(each) for each in known.definition.sources]
                )
            self.nodes[name.lower()] = held
        return held

    def _base(self, definition: BaseDefinition) -> Base:
        source = definition.source
        if isinstance(source, Connector):
            path = str(source.option("path"))
            self.allowed().require_readable(path)
            readings = extra("penstock.grid.space.arrays").opened(path, definition.columns)
        else:
            readings = readings_in(self.answer(parse_select(readings_sql(definition))))
        return base_of(definition.name, definition.topology, readings)


def readings_sql(definition: BaseDefinition) -> str:
    """Return the SELECT of a base's readings."""
    time, *numbers = map(quoted, definition.columns)
    doubles = ", ".join(f"CAST({each} AS DOUBLE)" for each in numbers)
    source = quoted(str(definition.source))
    return f"SELECT {time}, {doubles} FROM {source} WHERE {time} IS NOT NULL"


def _computing() -> Any:
    """Return what computes cells."""
    return extra("penstock.grid.answers")
