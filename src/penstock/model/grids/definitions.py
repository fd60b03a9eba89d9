"""CREATE BASE and CREATE PERSPECTIVE as data (TIME-42, TIME-44)."""

from dataclasses import dataclass
from typing import Literal

from penstock.errors import BadGridError
from penstock.model.definitions import Connector
from penstock.model.grids.axis import Axis, Topology
from penstock.model.grids.formula import Formula

Variogram = Literal["linear", "power", "gaussian", "spherical", "exponential"]
MethodName = Literal["kriging", "idw", "nearest"]
AggregateName = Literal["avg", "sum", "min", "max", "count", "median", "stddev", "first", "last"]
VARIOGRAMS: tuple[Variogram, ...] = ("linear", "power", "gaussian", "spherical", "exponential")
METHODS: tuple[MethodName, ...] = ("kriging", "idw", "nearest")
AGGREGATES: tuple[AggregateName, ...] = (
    "avg",
    "sum",
    "min",
    "max",
    "count",
    "median",
    "stddev",
    "first",
    "last",
)
FEWEST = {"kriging": 3, "idw": 1, "nearest": 1}  # a variogram needs distances to tell apart


@dataclass(frozen=True, slots=True)
class Method:
    """How a cell's value follows from those of its neighbours.

    `neighbours` bounds the input selection, `radius` (metres) as well; a cell with fewer than
    `fewest` of them has no value. `power` is that of the inverse distance.
    """

    name: MethodName
    neighbours: int = 16  # the documents krige with 15 to 22
    radius: float | None = None
    power: float = 2.0
    variogram: Variogram = "spherical"
    fewest: int | None = None

    def __post_init__(self) -> None:
        """Fill in what the method needs at least; refuse what cannot be."""
        least = FEWEST[self.name]
        if self.fewest is None:
            object.__setattr__(self, "fewest", least)
        if self.least < least or self.neighbours < self.least:
            raise BadGridError(
                f"{self.name} takes at least {least} points, and fewest of at most neighbours"
            )
        if self.power <= 0 or (self.radius is not None and self.radius <= 0):
            raise BadGridError("power and radius must be above zero")

    @property
    def least(self) -> int:
        """Return with how few points a cell still has a value."""
        return self.fewest or FEWEST[self.name]


@dataclass(frozen=True, slots=True)
class Convert:
    """Each cell by itself: scaling, cleaning to NULL (5.2)."""

    formula: Formula


@dataclass(frozen=True, slots=True)
class Merge:
    """The same cell of several sources, whose names the formula's variables are (5.3)."""

    formula: Formula


@dataclass(frozen=True, slots=True)
class Interpolate:
    """A cell from the cells near it in its slice of time (5.4)."""

    method: Method


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A cell from the cells that it consists of (5.5)."""

    name: AggregateName


DataFunction = Convert | Merge | Interpolate | Aggregate


@dataclass(frozen=True, slots=True)
class BaseDefinition:
    """CREATE BASE: readings of a stream, table or query, or of arrays in files.

    `columns` are those of time, latitude, longitude and value. The topology is as fine as the
    devices are, so that no two readings meet in one cell.
    """

    name: str
    source: str | Connector
    columns: tuple[str, str, str, str]
    topology: Topology
    text: str = ""


@dataclass(frozen=True, slots=True)
class PerspectiveDefinition:
    """CREATE PERSPECTIVE: ⟨sources, topology, data function⟩; axes not given are the source's."""

    name: str
    sources: tuple[str, ...]
    function: DataFunction
    time: Axis | None = None
    lat: Axis | None = None
    lon: Axis | None = None
    text: str = ""
