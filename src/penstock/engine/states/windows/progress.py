"""Progress: how far windows of one kind have closed, and which of them a run has to show.

    next: the first window that has not closed
    kept: the first that is still kept; behind `next` while closed windows may be corrected

Both only rise, and are None as long as no window has closed and all count.
"""

from dataclasses import dataclass, replace
from typing import Self

from penstock.model.trains import BEGIN_OF_TIME, END_OF_TIME, shifted
from penstock.plan.operators.windows.window_aggregate import Numbers
from penstock.plan.operators.windows.window_assigner import WindowAssigner

Spread = tuple[int, int]  # the first and the last pane that there is
Span = tuple[int, int]  # places: from, and before


@dataclass(frozen=True, slots=True)
class Progress:
    """`high` is the latest tuple's place, also of those that WHERE does not let through."""

    assigner: WindowAssigner
    next: int | None = None
    kept: int | None = None
    high: int | None = None

    @classmethod
    def begun(cls, assigner: WindowAssigner, begin: int) -> Self:
        """Answer only for windows that start at or after `begin`."""
        first = first_from(assigner, begin)
        return cls(assigner, first, first)

    def risen(self, high: int | None) -> Self:
        """Return it after a tuple at this place."""
        known = [each for each in (self.high, high) if each is not None]
        return replace(self, high=max(known, default=None))

    def moved(self, watermark: int, lateness: int, spread: Spread | None) -> Self:
        """Return it behind a watermark: closed windows are kept for `lateness` longer."""
        kept = shifted(watermark, -lateness)
        return replace(
            self,
            next=self._reached(self.next, watermark, spread),
            kept=self._reached(self.kept, kept, spread),
        )

    # -- which windows a run shows ---------------------------------------------------------

    def closing(self, watermark: int, spread: Spread | None) -> Numbers | None:
        """Return the first and the last window to close, or None.

        Windows without any tuple are passed over: they have no row.
        """
        if spread is None or watermark == BEGIN_OF_TIME:
            return None
        last = self._last_closing(watermark, spread)
        return _range(self.assigner.first_holding(*spread), self.next, last)

    def corrected(self, spread: Spread) -> Numbers | None:
        """Return the windows that have closed, are still kept, and may hold new tuples there."""
        last = self.assigner.last_holding(*spread)
        if last is None or self.next is None:
            return None
        # All windows of a landmark hold what its first one does.
        last = self.next - 1 if self.grows else min(last, self.next - 1)
        return _range(self.assigner.first_holding(*spread), self.kept, last)

    def open(self, watermark: int, spread: Spread | None) -> Numbers | None:
        """Return the windows that stay open behind the watermark and hold something."""
        if spread is None:
            return None
        passed = self._reached(self.next, watermark, spread)
        return _range(
            self.assigner.first_holding(*spread), passed, self.assigner.last_holding(*spread)
        )

    # -- what has passed -------------------------------------------------------------------

    @property
    def kept_from(self) -> int | None:
        """Return where the first window begins that is still kept; None where all panes count."""
        if self.kept is None:
            return None
        if self.assigner.is_over(self.kept):
            return END_OF_TIME
        return self.assigner.start_of(self.kept) if self.assigner.lower > 0 else None

    @property
    def collapses_before(self) -> int | None:
        """Return before where a landmark's panes are needed only together."""
        return self.assigner.end_of(self.kept - 1) if self.grows and self.kept else None

    def late_span(self, first: int | None) -> Span | None:
        """Return the places from and before which a tuple is late, or None before any close.

        A tuple is late where it missed a window that has closed for good. Before the `first` one
        that is answered for, it missed nothing.
        """
        number = latest(self.kept, first)
        if number is None or number == first:
            return None
        if self.assigner.upper <= 0:  # all have closed together
            return self._earliest, self.assigner.end
        if first is None and not self.assigner.endless:
            first = 0
        since = BEGIN_OF_TIME if first is None else self.assigner.start_of(first)
        return since, self.assigner.end_of(number - 1)

    def promise(self, first: int | None) -> int:
        """Return the time before which no more rows come of windows from the `first` one on."""
        number = latest(self.kept, first)
        if number is None:
            return BEGIN_OF_TIME
        if self.assigner.is_over(number):
            return END_OF_TIME
        return (
            self.assigner.start_of(number)
            if self.assigner.is_steady
            else self.assigner.end_of(number)
        )

    @property
    def grows(self) -> bool:
        """Say whether it is a landmark: windows with one begin, each longer than the one before."""
        return self.assigner.lower == 0 and self.assigner.upper > 0

    @property
    def _earliest(self) -> int:
        """Return the earliest place that windows with an end in common hold."""
        if self.assigner.lower >= 0:
            return self.assigner.begin
        return (
            BEGIN_OF_TIME
            if self.assigner.last is None
            else self.assigner.start_of(self.assigner.last)
        )

    def _last_closing(self, watermark: int, spread: Spread) -> int | None:
        holding = self._last_holding(spread)
        if watermark == END_OF_TIME:
            return holding
        closed = self.assigner.last_closed(watermark)
        if closed is None or holding is None:
            return None
        # A landmark grows through a silence, too.
        return closed if self.grows else min(closed, holding)

    def _last_holding(self, spread: Spread) -> int | None:
        """Return the last window worth a row when nothing more comes.

        A landmark's last window holds every tuple of the stream, whatever WHERE lets through: else
        it would depend on how far the watermark came before the end.
        """
        first, last = spread
        if self.grows and self.high is not None:
            last = max(last, self.high)
        return self.assigner.last_holding(first, last)

    def _reached(self, number: int | None, watermark: int, spread: Spread | None) -> int | None:
        """Return the first window that stays open, never an earlier one than before.

        At the end of time, that is the one behind the last that holds anything: numbers have to
        stay numbers, since late tuples and promises are still judged by them.
        """
        if watermark == BEGIN_OF_TIME:
            return number
        if watermark == END_OF_TIME:
            reached = None if spread is None else self._last_holding(spread)
        else:
            reached = self.assigner.last_closed(watermark)
        return number if reached is None else latest(number, reached + 1)


def first_from(assigner: WindowAssigner, begin: int) -> int | None:
    """Return the first window that starts at or after `begin`, or None where all count."""
    return None if begin == BEGIN_OF_TIME else assigner.first_from(begin)


def latest(*numbers: int | None) -> int | None:
    """Return the greatest of those that are known."""
    return max((number for number in numbers if number is not None), default=None)


def _range(holding: int, open_from: int | None, last: int | None) -> Numbers | None:
    first = holding if open_from is None else max(holding, open_from)
    return None if last is None or first > last else (first, last)
