"""How the cells of one axis consist of those of another (TIME-43, Location Consistent).

Cell j of the target consists of the source's cells from `offset + step·j`, `size` of them; with a
period, of the same again every `period` cells, as far as they are between the `limits`.
"""

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from penstock.errors import BadGridError
from penstock.grid.space.cells import Ints
from penstock.grid.space.spans import Spans, span, spans
from penstock.model.grids import Axis

UNITS = {"time": "seconds", "lat": "degrees", "lon": "degrees"}


@dataclass(frozen=True, slots=True)
class Nesting:
    """Counts of the source's cells; `limits` are numbers of them, once known."""

    offset: int
    step: int
    size: int
    period: int | None = None
    limits: tuple[int, int] = (0, 0)

    @property
    def repeats(self) -> int:
        """Return to how many cells of the target one of the source can belong."""
        return -(-self.size // self.step)

    def targets(self, numbers: Ints) -> list[tuple[Ints, np.ndarray]]:
        """Return, for each cell that a source cell may belong to, its number and whether it does.

        One pair for each of the `repeats`, in the order of time: never one for each cell.
        """
        if self.period is not None:
            at = numbers - self.offset
            within = np.mod(at, self.period)
            low, high = self.limits
            there = (np.mod(within, self.step) < self.size) & (numbers >= low) & (numbers < high)
            return [(np.floor_divide(within, self.step), there)]
        last, within = np.divmod(numbers - self.offset, self.step)
        later = range(self.repeats - 1, -1, -1)
        return [(last - back, within + back * self.step < self.size) for back in later]

    def sources(self, wanted: Spans) -> Spans:
        """Return the source's cells that a target's cells consist of, and some between them."""
        starts = wanted.starts * self.step + self.offset
        stops = (wanted.stops - 1) * self.step + self.offset + self.size
        if self.period is None:
            return spans(starts, stops)
        low, high = self.limits
        first, last = ((each - self.offset) // self.period for each in self.limits)
        shift = np.arange(first, last + 1) * self.period
        blocks = spans(np.add.outer(shift, starts).ravel(), np.add.outer(shift, stops).ravel())
        return blocks & span(low, high)

    def reached(self, held: Spans) -> Spans:
        """Return the target's cells of which some source cell may be held."""
        if self.period is not None:
            return spans(np.array([0]), np.array([self.period // self.step]))
        starts = np.floor_divide(held.starts - self.offset - self.size, self.step) + 1
        stops = np.floor_divide(held.stops - 1 - self.offset, self.step) + 1
        return spans(starts, stops)

    def within(self, low: int, high: int) -> "Nesting":
        """Return the nesting of scattered cells as far as their parts lie in a range."""
        return self if self.period is None else replace(self, limits=(low, high))


Nestings = tuple[Nesting, Nesting, Nesting]


def nesting(name: str, target: Axis, source: Axis) -> Nesting:
    """Return how target cells consist of source cells; raise where they do not."""
    if target == source:
        return Nesting(0, 1, 1)
    if source.size != source.step or source.period is not None:
        raise BadGridError(
            f"along {name} the source's cells overlap, leave gaps or are scattered, "
            "so no other cells consist of them",
            hint=f"leave {name} out of GRID, or read what that perspective reads",
        )
    parts = (
        (target.origin - source.origin) / source.step,
        target.step / source.step,
        target.size / source.step,
        (target.period or Fraction(0)) / source.step,
    )
    if any(each.denominator != 1 for each in parts):
        raise BadGridError(
            f"along {name} cells of {_told(target.size)} {UNITS[name]} every {_told(target.step)} "
            f"do not nest into the source's cells of {_told(source.step)}",
            hint=f"take a multiple of {_told(source.step)}, or a finer RESOLUTION of the base",
        )
    offset, step, size, period = map(int, parts)
    return Nesting(offset, step, size, period or None)


def _told(fraction: Fraction) -> str:
    return str(fraction) if fraction.denominator < 10**6 else f"{float(fraction):g}"
