"""What follows CREATE BASE and CREATE PERSPECTIVE and their names."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from fractions import Fraction
from typing import Any

from penstock.errors import BadGridError, BadOptionError, UnknownOptionError
from penstock.model.definitions import Connector, Option
from penstock.model.grids import (
    AGGREGATES,
    METHODS,
    VARIOGRAMS,
    Aggregate,
    Axis,
    BaseDefinition,
    Convert,
    DataFunction,
    Interpolate,
    Merge,
    Method,
    PerspectiveDefinition,
    Topology,
)
from penstock.sql.clauses.connectors import read_connector, read_options
from penstock.sql.clauses.formulas import read_formula
from penstock.sql.dialect.clips import AXES, degrees, time
from penstock.sql.dialect.intervals import positive_duration
from penstock.sql.dialect.reader import TokenReader
from penstock.sql.dialect.refusals import near_miss

BASE = "CREATE BASE b FROM readings (ts, lat, lon, temperature)"
PERSPECTIVE = "CREATE PERSPECTIVE p FROM b GRID (time INTERVAL 1 HOUR) AS aggregate(avg)"
FINEST = Axis(Fraction(1, 3_600_000))  # a thousandth of an arc second, 3 cm: finer than any GPS
DEVICES = Topology(Axis(Fraction(1)), FINEST, FINEST)
COLUMNS = 4
ARRAYS = ("netcdf", "zarr")  # arrays in files, where a name of rows may stand
FUNCTIONS = ("convert", "merge", "interpolate", "aggregate")
Read = Callable[[TokenReader], Fraction]


def read_base(reader: TokenReader, name: str, text: str) -> BaseDefinition:
    """Read where readings come from, their columns, and how fine the devices are."""
    reader.expect("FROM", hint=BASE)
    source = _source(reader)
    reader.expect("(", hint=f"then come time, latitude, longitude and value: {BASE}")
    columns = [reader.name("the column of the time")]
    for what in ("latitude", "longitude", "value"):
        reader.expect(",", hint=BASE)
        columns.append(reader.name(f"the column of the {what}"))
    reader.expect(")", hint=BASE)
    given = _axes(reader) if reader.accept("RESOLUTION") else {}
    token = reader.token
    axes = {axis: given.get(axis) or getattr(DEVICES, axis) for axis in AXES}
    with reader.placed(token):
        if not all(axis.is_plain for axis in axes.values()):
            raise BadGridError("a base's cells touch: RESOLUTION has no SIZE and no EVERY")
    if reader.token:
        reader.miss("the end", hint="RESOLUTION (time INTERVAL 1 SECOND, lat 1/3600, lon 1/3600)")
    time_column, lat, lon, value = columns
    return BaseDefinition(name, source, (time_column, lat, lon, value), Topology(**axes), text)


def read_perspective(reader: TokenReader, name: str, text: str) -> PerspectiveDefinition:
    """Read sources, cells and data function."""
    reader.expect("FROM", hint=PERSPECTIVE)
    sources = [reader.name("a base or a perspective")]
    while reader.accept(","):
        sources.append(reader.name("a base or a perspective"))
    axes = _axes(reader) if reader.accept("GRID") else {}
    reader.expect("AS", hint=PERSPECTIVE)
    token = reader.token
    word = reader.choose(*(each.upper() for each in FUNCTIONS), what="a data function").lower()
    with reader.placed(token):
        _check_sources(word, sources)
    reader.expect("(", hint=f"AS {word}(…)")
    function = READS[word](reader, sources)
    reader.expect(")", hint=f"AS {word}(…)")
    if reader.token:
        reader.miss("the end", hint="GRID (…) stands before AS")
    return PerspectiveDefinition(name, tuple(sources), function, text=text, **axes)


def _check_sources(word: str, sources: list[str]) -> None:
    if (word == "merge") != (len(sources) > 1):
        raise BadGridError(
            f"{word} has {len(sources)} source{'s' * (len(sources) > 1)}",
            hint="merge takes several, FROM a, b; all else takes one",
        )
    if len({each.lower() for each in sources}) < len(sources):
        raise BadGridError("merge reads one source twice", hint="a formula may name it twice")


def _source(reader: TokenReader) -> str | Connector:
    """Read a name, or a connector to arrays in files."""
    if any(reader.sees(each.upper(), "(") for each in ARRAYS):
        token = reader.token
        start = reader.mark()
        connector = read_connector(reader) if _is_connector(reader, start) else None
        if connector is not None:
            with reader.placed(token):
                path = connector.option("path")
                if not isinstance(path, str) or len(connector.options) > 1:
                    raise BadOptionError(f"{connector.name} takes a path", hint="path => 'x.nc'")
            return connector
    return reader.name("a stream, a table or a query, or netcdf(path => '…')")


def _is_connector(reader: TokenReader, start: int) -> bool:
    """Say whether options follow, and no columns."""
    reader.step()
    reader.step()
    reader.step()
    is_option = reader.sees("=>")
    reader.back_to(start)
    return is_option


def _axes(reader: TokenReader) -> dict[str, Axis]:
    """Read GRID's or RESOLUTION's axes in parentheses."""
    reader.expect("(", hint="GRID (time INTERVAL 1 HOUR, lat 1/3600, lon 1/3600)")
    found: dict[str, Axis] = {}
    while True:
        token = reader.token
        axis = reader.choose(*(each.upper() for each in AXES), what="time, lat or lon").lower()
        if axis in found:
            reader.fail(f"{axis} is given twice", hint="keep one of the two", token=token)
        length, corner = (_length, time) if axis == "time" else (degrees, degrees)
        with reader.placed(token):
            found[axis] = _axis(reader, length, corner)
        if not reader.accept(","):
            break
    reader.expect(")", hint="commas stand between axes; each has a step, SIZE, EVERY, FROM")
    return found


def _axis(reader: TokenReader, length: Read, corner: Read) -> Axis:
    step = length(reader)
    given: dict[str, Fraction] = {}
    reads = {"SIZE": ("size", length), "EVERY": ("period", length), "FROM": ("origin", corner)}
    while (word := next((each for each in reads if reader.accept(each)), None)) is not None:
        name, read = reads[word]
        if name in given:
            raise BadGridError(f"{word} is given twice")
        given[name] = read(reader)
        if word == "SIZE" and given[name] <= 0:
            raise BadGridError("a cell's SIZE must be above zero")
    return Axis(step, **given)


def _length(reader: TokenReader) -> Fraction:
    whole = positive_duration(reader, of="time")
    return Fraction(whole // timedelta(microseconds=1), 1_000_000)


def _convert(reader: TokenReader, _: list[str]) -> DataFunction:
    return Convert(read_formula(reader, {"value": "value"}))


def _merge(reader: TokenReader, sources: list[str]) -> DataFunction:
    return Merge(read_formula(reader, {each.lower(): each for each in sources}))


def _aggregate(reader: TokenReader, _: list[str]) -> DataFunction:
    word = reader.choose(*(each.upper() for each in AGGREGATES), what="an aggregate").lower()
    return Aggregate(next(each for each in AGGREGATES if each == word))


def _interpolate(reader: TokenReader, _: list[str]) -> DataFunction:
    token = reader.token
    word = reader.choose(*(each.upper() for each in METHODS), what="a method").lower()
    options = dict(read_options(reader)) if reader.sees("(") else {}
    with reader.placed(token):
        return Interpolate(_method(word, options))


def _method(word: str, options: Mapping[str, Option]) -> Method:
    given: dict[str, Any] = {}
    known = {"neighbours", "radius", "fewest"}
    known |= {"idw": {"power"}, "kriging": {"variogram"}}.get(word, set())
    for name, value in options.items():
        if name not in known:
            hint = near_miss(name, sorted(known)).lower() or f"one of {', '.join(sorted(known))}"
            raise UnknownOptionError(f"{word} has no option {name}", hint=hint)
        given[name] = _checked(name, value)
    return Method(next(each for each in METHODS if each == word), **given)


def _checked(name: str, value: Option) -> Any:
    if name == "variogram":
        if value in VARIOGRAMS:
            return value
        raise BadOptionError(f"variogram is one of {', '.join(VARIOGRAMS)}")
    whole = name in ("neighbours", "fewest")
    number = isinstance(value, int) if whole else isinstance(value, int | float)
    if isinstance(value, bool) or not number or not 0 < value < 2**31:  # type: ignore[operator]
        raise BadOptionError(f"{name} must be a {'whole ' * whole}number above zero")
    return value if whole else float(value)  # type: ignore[arg-type]


READS: dict[str, Callable[[TokenReader, list[str]], DataFunction]] = {
    "convert": _convert,
    "merge": _merge,
    "interpolate": _interpolate,
    "aggregate": _aggregate,
}
