"""TimeSlices: the cells of a perspective over streams, slice by slice of time (TIME-50).

A cell of time [corner, corner + size) consists of readings of that time and of no others, whatever
perspectives lie between, so a slice is complete once the watermarks of all bases have passed its
end. The engine computes its cells then (decision 0080).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from penstock.model.grids import CELLS, Axis, PerspectiveDefinition, Topology, Window
from penstock.model.own_names import own
from penstock.model.schema import Column, Schema
from penstock.model.trains import END_OF_TIME, shifted
from penstock.plan.operators.joins.join_input import JoinInput
from penstock.plan.operators.operator import EventTime, Operator

READING = ("time", "lat", "lon", "value")
TIME = own("time")
MICROSECONDS = 1_000_000


@dataclass(frozen=True, slots=True)
class TimeSlices:
    """`bases` are read from `read`, in that order; the last of `perspectives` is the surface.

    `time` is the surface's axis. Without perspectives the surface is the one base.
    """

    read: tuple[JoinInput, ...]
    bases: tuple[tuple[str, Topology], ...]
    perspectives: tuple[PerspectiveDefinition, ...]
    window: Window
    time: Axis

    @property
    def inputs(self) -> tuple[Operator, ...]:
        """Return what the bases read."""
        return tuple(each.operator for each in self.read)

    @property
    def schema(self) -> Schema:
        """Return the columns of cells."""
        return CELLS

    @property
    def late_schema(self) -> Schema:
        """Return the columns of a reading that came too late, with the base that it was for."""
        return Schema((Column("base", "string"), *self.state_schema.columns[:-1]))

    @property
    def state_schema(self) -> Schema:
        """Return what is kept of a reading."""
        numbers = (Column(each, "double") for each in READING[1:])
        return Schema((Column(READING[0], "timestamp"), *numbers, Column(TIME, "bigint")))

    @property
    def times(self) -> tuple[EventTime, ...]:
        """Return the corner's time; of scattered cells that is in the first of their blocks."""
        return () if self.is_scattered else (EventTime(READING[0]),)

    @property
    def is_scattered(self) -> bool:
        """Say whether cells come again and again in time, so that all are complete at once."""
        return self.time.period is not None

    @property
    def surface(self) -> str:
        """Return whose cells they are."""
        return self.perspectives[-1].name if self.perspectives else self.bases[0][0]

    def identity(self) -> tuple[object, ...]:
        """Return what the cells follow from, however it was written."""
        perspectives = tuple(replace(each, text="") for each in self.perspectives)
        return (self.read, self.bases, perspectives, self.window)

    def text(self) -> str:
        """Say whose cells, and when they come."""
        through = ", ".join(each.name for each in self.perspectives[:-1])
        by = f" through {through}" if through else ""
        over = ", ".join(name for name, _ in self.bases)
        when = "once the window has passed" if self.is_scattered else "slice by slice of time"
        return f"cells of {self.surface} over {over}{by}, {when}"

    def sql(self, inputs: Sequence[str]) -> str:
        """Refuse: cells are not Spark's SQL."""
        raise TypeError(f"cells of {self.surface} are no SELECT")

    # -- which slices are complete: times in microseconds ----------------------------------

    def watermark(self, marks: Sequence[int]) -> int:
        """Return up to which time all readings are there."""
        pairs = zip(marks, self.read, strict=True)
        return min(shifted(mark, each.time.offset) for mark, each in pairs)

    def open_at(self, mark: int) -> int:
        """Return the corner of the first slice that is not complete at a watermark."""
        if self.is_scattered:
            low, high = self._span()
            return high if mark >= high else low
        step, size, origin = self._sizes()
        return ((mark - size - origin) // step + 1) * step + origin

    def first_from(self, begin: int) -> int:
        """Return the corner of the first slice that lies at a time or after it."""
        if self.is_scattered:
            low, high = self._span()
            return low if begin <= low else high
        step, _, origin = self._sizes()
        return -((origin - begin) // step) * step + origin

    def after(self, last: int) -> int:
        """Return the corner of the first slice of which a reading of this time is no part."""
        if self.is_scattered:
            return self._span()[1]
        step, _, origin = self._sizes()
        return ((last - origin) // step + 1) * step + origin

    def end_of(self, corner: int) -> int:
        """Return the end of the slice with this corner."""
        return self._span()[1] if self.is_scattered else corner + self._sizes()[1]

    def end_before(self, corner: int) -> int:
        """Return the end of the last slice before the one with this corner."""
        if self.is_scattered:
            return corner
        step, size, _ = self._sizes()
        return corner - step + size

    def _sizes(self) -> tuple[int, int, int]:
        axis = self.time
        return (_micros(axis.step), _micros(axis.size), _micros(axis.origin))

    def _span(self) -> tuple[int, int]:
        bounds = self.window.time
        if bounds is None:
            return (END_OF_TIME, END_OF_TIME)  # binding asks for bounds
        return (_micros(bounds[0]), _micros(bounds[1]))


def _micros(seconds: Fraction) -> int:
    return int(seconds * MICROSECONDS)
