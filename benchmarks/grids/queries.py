"""Q1 to Q5 of the thesis over the example's field, as trees that the grid's room computes."""

import runpy
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

import pyarrow as pa

from penstock.grid.space.perspectives import Base, Node, base_of, derived
from penstock.grid.space.rows import readings_in
from penstock.model.grids import (
    VALUE,
    Aggregate,
    Axis,
    Constant,
    Convert,
    Formula,
    Interpolate,
    Method,
    Operation,
    PerspectiveDefinition,
    Topology,
    Window,
)
from penstock.model.grids.definitions import DataFunction

EXAMPLE = Path(__file__).parents[2] / "examples" / "hypergrid" / "field.py"
SECOND = Fraction(1, 3600)  # of an arc
FINE = Axis(SECOND / 1000)
RAW = Topology(Axis(Fraction(1)), FINE, FINE)
MINUTE, HOUR, DAY = Fraction(60), Fraction(3600), Fraction(86_400)
SOUTH, WEST = Fraction(45) + Fraction(52, 60) + SECOND, Fraction(7) + Fraction(10, 60) + 37 * SECOND
NEIGHBOURS = 16
TEMPERATURE, WATERMARK = (-40.0, 40.0), (0.0, 200.0)


def field(days: float = 45, every: int = 145) -> pa.Table:
    """Return the readings; as they are, 588,793 of each measure."""
    table: pa.Table = runpy.run_path(str(EXAMPLE))["field"](days, every)
    return table


def base(readings: pa.Table, measure: str) -> Base:
    """Return one measure's readings as a base."""
    return base_of(measure, RAW, readings_in(readings.select(["ts", "lat", "lon", measure])))


def seconds(text: str) -> Fraction:
    """Return a day as seconds since 1970."""
    return Fraction(int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()))


def window(begin: str, days: Fraction, side: int = 22) -> Window:
    """Return a span of time and a square of so many arc seconds."""
    time = (seconds(begin), seconds(begin) + days * DAY)
    return Window(time, (SOUTH, SOUTH + side * SECOND), (WEST, WEST + side * SECOND))


def between(low: float, high: float) -> Formula:
    """Return a formula that cleans what is outside."""
    above = Operation(">=", (VALUE, Constant(low)))
    below = Operation("<=", (VALUE, Constant(high)))
    return Operation("case", (Operation("and", (above, below)), VALUE, Constant(None)))


def over(name: str, function: DataFunction, source: Node, **axes: Axis) -> Node:
    """Return a perspective over one source."""
    return derived(PerspectiveDefinition(name, (source.name,), function, **axes), [source])


@dataclass(frozen=True, slots=True)
class Query:
    """A surface and its window."""

    name: str
    surface: Node
    window: Window


def chain(source: Base, limits: tuple[float, float], align: Fraction, surface: Axis) -> Node:
    """Return convert, align, interpolate, aggregate: the four perspectives of Q1."""
    clean = over("clean", Convert(between(*limits)), source)
    aligned = over("align", Aggregate("avg"), clean, time=Axis(align))
    arc = Axis(SECOND)
    method = Method("kriging", NEIGHBOURS)
    mapped = over("interpolate", Interpolate(method), aligned, lat=arc, lon=arc)
    return over("aggregate", Aggregate("avg"), mapped, time=surface)


def queries(readings: pa.Table) -> dict[str, Query]:
    """Return Q1 to Q5 (Table 5.3); of Q5, six hours."""
    warm, wet = base(readings, "ambient_temperature"), base(readings, "watermark")
    half, begin = 30 * MINUTE, "2007-10-01"
    three = Axis(3 * DAY, origin=seconds(begin))
    six = Axis(6 * DAY, origin=seconds(begin))
    lapping = Axis(5 * MINUTE, size=15 * MINUTE)
    q1 = chain(warm, TEMPERATURE, half, three)
    found = (
        Query("Q1", q1, window(begin, Fraction(3))),
        Query("Q2", chain(wet, WATERMARK, half, three), window(begin, Fraction(3))),
        Query("Q3", chain(warm, TEMPERATURE, half, six), window(begin, Fraction(6))),
        Query("Q4", q1, window(begin, Fraction(3), side=31)),
        Query("Q5", chain(warm, TEMPERATURE, 5 * MINUTE, lapping), window(begin, Fraction(1, 4))),
    )
    return {each.name: each for each in found}


def course(readings: pa.Table, measure: str, high: float, side: int = 0) -> Query:
    """Return a measure by the hour over 28 days (example 5.3.2), at one place or on a map."""
    clean = over("clean", Convert(between(0, high)), base(readings, measure))
    hourly = over("align", Aggregate("avg"), clean, time=Axis(HOUR))
    arc = Axis(SECOND)
    there = over("there", Interpolate(Method("kriging", NEIGHBOURS)), hourly, lat=arc, lon=arc)
    time = (seconds("2007-09-20"), seconds("2007-10-18"))
    first = (11 - side // 2) * SECOND
    lat, lon = ((each + first, each + first + side * SECOND) for each in (SOUTH, WEST))
    return Query(measure, there, Window(time, lat, lon))
