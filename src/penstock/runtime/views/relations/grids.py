"""`system.bases` and `system.perspectives`: what cells there are, and what they follow from."""

from collections.abc import Iterator

from penstock.model.grids import Aggregate, Axis, Convert, Interpolate, Merge, Topology
from penstock.runtime.names.directory import Directory, KnownBase, KnownPerspective
from penstock.runtime.views.view import Row, View, columns


def base_rows(directory: Directory) -> Iterator[Row]:
    """Yield a row for every base."""
    for known in directory.grids():
        if isinstance(known, KnownBase):
            own = known.definition
            source = own.source if isinstance(own.source, str) else own.source.name
            row = {"base": own.name, "source": source, "readings": ", ".join(own.columns)}
            yield row | _cells(known.topology)


def perspective_rows(directory: Directory) -> Iterator[Row]:
    """Yield a row for every perspective."""
    for known in directory.grids():
        if isinstance(known, KnownPerspective):
            own = known.definition
            row = {"perspective": own.name, "sources": ", ".join(own.sources)}
            yield row | {"function": _function(known)} | _cells(known.topology)


def _function(known: KnownPerspective) -> str:
    match known.definition.function:
        case Convert():
            return "convert"
        case Merge():
            return "merge"
        case Interpolate(method=method):
            return f"interpolate {method.name}"
        case Aggregate(name=name):
            return f"aggregate {name}"


def _cells(topology: Topology) -> Row:
    return {
        "time": _told(topology.time, " s"),
        "lat": _told(topology.lat, "°"),
        "lon": _told(topology.lon, "°"),
    }


def _told(axis: Axis, unit: str) -> str:
    size = "" if axis.size == axis.step else f" of {axis.size}{unit}"
    again = f" again every {axis.period}{unit}" if axis.period else ""
    return f"{axis.step}{unit}{size}{again}"


BASES = View(
    "bases",
    "bases of grids: where readings come from, and how fine their cells are",
    columns("base STRING, source STRING, readings STRING, time STRING, lat STRING, lon STRING"),
    lambda of: base_rows(of.directory),
)
PERSPECTIVES = View(
    "perspectives",
    "perspectives: what they follow from, and how their cells lie",
    columns(
        "perspective STRING, sources STRING, function STRING, time STRING, lat STRING, lon STRING"
    ),
    lambda of: perspective_rows(of.directory),
)
