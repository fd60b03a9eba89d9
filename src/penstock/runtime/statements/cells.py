"""Bases and perspectives in the FROM of a one-time SELECT: their cells, computed for it."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.engine.allowed import Allowed
from penstock.engine.spark.jobs.once import Shape, as_it_is
from penstock.engine.spark.jobs.slabs import by_slabs
from penstock.errors import BadGridError, PenstockError
from penstock.grid.answers import answered, drawn, explained
from penstock.grid.coalesce import coalesced
from penstock.grid.execution import needs, refuse_huge
from penstock.grid.reach import wanted
from penstock.grid.reader import extra, needs_extra
from penstock.grid.slabs import Slabs, extent_of, spread_cells, with_bases
from penstock.grid.space.cells import Cells
from penstock.grid.space.perspectives import AXES, Base, Node, base_of, derived, empty_base, micros
from penstock.grid.space.rows import as_rows, readings_in
from penstock.grid.space.spans import Spans
from penstock.model.definitions import Connector
from penstock.model.grids import NO_WINDOW, BaseDefinition, Window
from penstock.model.own_names import own
from penstock.model.schema import quoted
from penstock.plan.select.once import Clipped, clips_as_names
from penstock.runtime.names.directory import Directory, KnownBase, KnownGrid
from penstock.sql import parse_select

Answer = Callable[[Any, Shape], pa.Table]
SMALLEST = 1_000  # readings of a slab: below that it is only overhead
_numbers = itertools.count()


@dataclass(slots=True)
class CellReader:
    """Computes cells for one statement, in which each base is read once.

    `answer` runs a SELECT over what is there now. Of more than `most` readings the cells are
    computed by Spark's workers, slab by slab.
    """

    directory: Directory
    allowed: Callable[[], Allowed]
    answer: Answer
    most: int
    nodes: dict[str, Node] = field(default_factory=dict)
    definitions: dict[Base, BaseDefinition] = field(default_factory=dict)
    counts: dict[Base, int] = field(default_factory=dict)
    read: dict[Base, Base] = field(default_factory=dict)

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
        surface = self.surveyed(name)
        if self._readings(surface, window) > self.most:
            cells = self._spread(coalesced(surface), window)
        else:
            with needs_extra():
                cells = answered(self._filled(surface, window), window)
        return as_rows(cells, surface.topology)

    def filled(self, name: str, window: Window) -> Node:
        """Return a base or a perspective over the readings that a window needs, for one process."""
        surface = self.surveyed(name)
        if (count := self._readings(surface, window)) > self.most:
            raise BadGridError(
                f"about {count:,} readings are too many for the pictures of one process",
                hint=f"at most {self.most:,}: narrow the window, or read all cells by a SELECT",
            )
        return self._filled(surface, window)

    def explained(self, name: str, window: Window) -> str:
        """Return how the cells are computed."""
        surface = self.surveyed(name)
        if self._readings(surface, window) > self.most:
            return f"{drawn(surface)}\nby slabs of Spark's workers"
        with needs_extra():
            return explained(self._filled(surface, window), window)

    def surveyed(self, name: str) -> Node:
        """Return a base or a perspective over bases without cells, whose reach is known."""
        known = self.directory.grid(name)
        held = self.nodes.get(name.lower())
        if held is None:
            if isinstance(known, KnownBase):
                held = self._survey(known.definition)
            else:
                sources = [self.surveyed(each) for each in known.definition.sources]
                held = derived(known.definition, sources)
            self.nodes[name.lower()] = held
        return held

    def _survey(self, definition: BaseDefinition) -> Base:
        """Return a base without its readings; arrays of files are read as a whole."""
        base = empty_base(definition.name, definition.topology)
        self.definitions[base] = definition
        source = definition.source
        if isinstance(source, Connector):
            path = str(source.option("path"))
            self.allowed().require_readable(path)
            readings = extra("penstock.grid.space.arrays").opened(path, definition.columns)
            filled = base_of(base.name, base.topology, readings)
            self.definitions[filled] = definition
            self.read[filled] = filled
            return filled
        found = self.answer(parse_select(survey_sql(definition)), as_it_is).to_pylist()[0]
        count = found.pop("readings")
        low, high = ([found[f"{end}_{axis}"] for axis in AXES] for end in ("low", "high"))
        surveyed = extent_of(base, low, high) if count else base
        self.definitions[surveyed] = definition
        self.counts[surveyed] = count
        return surveyed

    def _readings(self, surface: Node, window: Window) -> int:
        """Return about how many readings a window needs, where they lie evenly in time."""
        return sum(self._within(each, span) for each, span in self._needed(surface, window))

    def _within(self, base: Base, held: Spans) -> int:
        if base in self.read:
            return 0
        return self.counts[base] * len(held) // max(1, len(base.extent.time))

    def _needed(self, surface: Node, window: Window) -> list[tuple[Base, Spans]]:
        below = needs(surface, wanted(surface, window), window)
        refuse_huge(below, whole=False)
        return [(each, held.time) for each, held in below.items() if isinstance(each, Base)]

    def _filled(self, surface: Node, window: Window) -> Node:
        """Return the tree with the readings that a window needs."""
        refuse_huge(needs(surface, wanted(surface, window), window), whole=True)
        filled: dict[Node, Node] = {}
        for base, held in self._needed(surface, window):
            if base in self.read:
                filled[base] = base
                continue
            select = readings_sql(self.definitions[base], _between(base, held))
            readings = readings_in(self.answer(parse_select(select), as_it_is))
            made = base_of(base.name, base.topology, readings)
            filled[base] = replace(made, extent=base.extent)
        return with_bases(surface, filled)

    def _spread(self, surface: Node, window: Window) -> Cells:
        """Return cells that Spark's workers compute, slab by slab."""

        def spread(slabs: Slabs) -> pa.Table:
            numbered = [
                readings_sql(self.definitions[base], "", f"{at} AS base, ")
                for at, base in enumerate(slabs.bases)
            ]
            select = parse_select(" UNION ALL ".join(numbered))
            return self.answer(select, by_slabs(slabs))

        def readings(base: Base) -> int:
            return self.counts.get(base, len(base.cells))

        return spread_cells(surface, window, readings, spread, max(SMALLEST, self.most // 2))


def readings_sql(definition: BaseDefinition, where: str = "", before: str = "") -> str:
    """Return the SELECT of a base's readings."""
    time, *numbers = map(quoted, definition.columns)
    doubles = [
        f"CAST({each} AS DOUBLE) AS {name}"
        for each, name in zip(numbers, ("lat", "lon", "value"), strict=True)
    ]
    source = quoted(str(definition.source))
    known = f"{time} IS NOT NULL{where and f' AND {time} {where}'}"
    return f"SELECT {before}{time} AS time, {', '.join(doubles)} FROM {source} WHERE {known}"


def survey_sql(definition: BaseDefinition) -> str:
    """Return the SELECT that tells how many readings there are, and how far they reach."""
    micros = [("low_time", "min(unix_micros(time))"), ("high_time", "max(unix_micros(time))")]
    places = [
        (f"{end}_{axis}", f"{function}({axis})")
        for axis in AXES[1:]
        for end, function in (("low", "min"), ("high", "max"))
    ]
    ends = ", ".join(f"{text} AS {name}" for name, text in (*micros, *places))
    known = "NOT isnan(lat) AND NOT isnan(lon) AND NOT isnan(value)"
    inner = readings_sql(definition)
    return f"SELECT count(*) AS readings, {ends} FROM ({inner}) AS r WHERE {known}"


def _between(base: Base, held: Spans) -> str:
    """Return the condition on the time of the readings that are needed."""
    if not len(held):
        return "IS NULL"
    ends = np.array([held.first, held.stop])
    first, stop = micros(base.topology.time, ends).tolist()
    return f"BETWEEN timestamp_micros({first}) AND timestamp_micros({stop})"
