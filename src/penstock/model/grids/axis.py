"""How cells lie along time, latitude and longitude (TIME-41).

    step     |--------|--------|          from one cell's lower corner to the next one's
    size     [============)               how far a cell reaches: over the next one, or short of it
    period   [=)    [=)    [=)            one cell in scattered blocks: an hour of many days

Numbers are fractions, so that cells nest exactly or not at all: a third of an hour, 1/3600 of a
degree. Time counts in seconds since 1970, latitude and longitude in degrees.
"""

from dataclasses import dataclass, field
from fractions import Fraction

from penstock.errors import BadGridError


@dataclass(frozen=True, slots=True)
class Axis:
    """Cells along one dimension; without a size they touch, without a period they are whole."""

    step: Fraction
    size: Fraction = field(default=Fraction(0))
    origin: Fraction = Fraction(0)
    period: Fraction | None = None

    def __post_init__(self) -> None:
        """Fill in the size; refuse steps that lead nowhere."""
        if self.step <= 0 or self.size < 0:
            raise BadGridError(f"a cell's step {self.step} must be above zero")
        if not self.size:
            object.__setattr__(self, "size", self.step)
        if self.period is None:
            return
        if self.period <= 0 or self.period % self.step:
            raise BadGridError(
                f"EVERY {self.period} is no multiple of the step {self.step}",
                hint="an hour of the day: time INTERVAL 1 HOUR EVERY INTERVAL 1 DAY",
            )
        if self.size > self.step:
            raise BadGridError("cells that come again EVERY period cannot overlap as well")

    @property
    def is_plain(self) -> bool:
        """Say whether the cells touch, and each is one block."""
        return self.size == self.step and self.period is None

    @property
    def overlaps(self) -> bool:
        """Say whether cells share ground."""
        return self.size > self.step


@dataclass(frozen=True, slots=True)
class Topology:
    """How the cells of a perspective lie."""

    time: Axis
    lat: Axis
    lon: Axis

    @property
    def axes(self) -> tuple[Axis, Axis, Axis]:
        """Return the axes in their order."""
        return (self.time, self.lat, self.lon)
