"""A base or a perspective in the FROM of a standing query: its cells, slice by slice of time."""

from collections.abc import Mapping
from dataclasses import replace

from penstock.errors import BadGridError, UnknownNameError
from penstock.grid.slices import refuse_unsliced, surface_of
from penstock.model.definitions import Connector
from penstock.model.grids import BaseDefinition, PerspectiveDefinition, Window
from penstock.plan.operators import EventTime, Operator, TimeSlices
from penstock.plan.operators.joins.join_input import JoinInput
from penstock.plan.operators.joins.time_slices import READING
from penstock.plan.relations.sources import Lookup, Source, StreamSource

Grid = tuple[tuple[BaseDefinition, ...], tuple[PerspectiveDefinition, ...]]


def time_slices(grid: Grid, window: Window, lookup: Lookup) -> TimeSlices:
    """Return the operator that gives a surface's cells, or raise why none can stand over it."""
    definitions, perspectives = grid
    bases = tuple((each.name, each.topology) for each in definitions)
    surface = surface_of(bases, perspectives)
    refuse_unsliced(surface, window)
    read = tuple(_input(each, lookup) for each in definitions)
    bare = tuple(replace(each, text="") for each in perspectives)
    return TimeSlices(read, bases, bare, window, surface.topology.time)


def _input(definition: BaseDefinition, lookup: Lookup) -> JoinInput:
    """Return what a base reads; its time has to be one by which the readings come in order."""
    source = definition.source
    found = None if isinstance(source, Connector) else lookup(source)
    if not isinstance(found, StreamSource):
        raise BadGridError(
            f"base {definition.name} reads {_kind(definition, found)}, to which no reading comes",
            hint="a standing query needs a base over a stream or a query; "
            "ask for what is there by a one-time SELECT",
        )
    columns = tuple(zip(definition.columns, READING, strict=True))
    time = _time(found.operator, definition)
    return JoinInput(found.operator, time, _as_in(found.operator, columns))


def _kind(definition: BaseDefinition, found: Source | None) -> str:
    if isinstance(definition.source, Connector):
        return "files of arrays"
    if found is None:
        raise UnknownNameError(f"no stream, table or query {definition.source}")
    return f"the table {definition.source}"


def _time(operator: Operator, definition: BaseDefinition) -> EventTime:
    wanted = definition.columns[0].lower()
    for each in operator.times:
        if each.column.lower() == wanted:
            return each
    known = ", ".join(each.column for each in operator.times) or "nothing"
    raise BadGridError(
        f"base {definition.name} has its time from {definition.columns[0]}, and the readings of "
        f"{definition.source} come by {known}: when a slice is complete is not known",
        hint=f"TIMESTAMP BY {definition.columns[0]} SLACK …, or a base with that column as time",
    )


def _as_in(operator: Operator, columns: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """Return columns under the names that they have where they are read."""
    known: Mapping[str, str] = {each.lower(): each for each in operator.schema.names}
    return tuple((known[name.lower()], out) for name, out in columns)
