"""The clipping window of a surface: which of its cells are returned."""

from dataclasses import dataclass
from fractions import Fraction

from penstock.errors import BadGridError

Bounds = tuple[Fraction, Fraction] | None


@dataclass(frozen=True, slots=True)
class Window:
    """Cells whose lower-left corner lies in it; without bounds, all that the data reach.

    The end of time is outside, those of latitude and longitude are inside: a day ends where the
    next begins, and the line to which a map is asked for is on it. Of a cell in scattered blocks
    counts what lies in it.
    """

    time: Bounds = None
    lat: Bounds = None
    lon: Bounds = None

    def __post_init__(self) -> None:
        """Refuse windows in which nothing can be."""
        for name, bounds in (("time", self.time), ("lat", self.lat), ("lon", self.lon)):
            if bounds is None:
                continue
            low, high = bounds
            if low > high or (name == "time" and low == high):
                raise BadGridError(
                    f"the window is empty: its {name} ends before it begins",
                    hint=f"WITHIN ({name} FROM the lower bound TO the upper one)",
                )


NO_WINDOW = Window()
