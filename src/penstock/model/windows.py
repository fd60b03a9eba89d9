"""The windows of the language, as frozen data; which of them run is the planner's business."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from penstock.errors import BadWindowError

ZERO = timedelta(0)
MOMENT = timedelta(microseconds=1)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Bound = datetime | int  # a time, or the number of a tuple, counted from 1
Hop = timedelta | int


@dataclass(frozen=True, slots=True)
class RangeWindow:
    """Spans of `size` of event time that start every `slide`, counted from `offset` after 1970."""

    size: timedelta
    slide: timedelta | None = None
    offset: timedelta = ZERO

    def __post_init__(self) -> None:
        """Refuse spans that never move or run backwards."""
        if self.size <= ZERO:
            raise BadWindowError(f"RANGE {self.size} must be above zero")
        if self.slide is not None and self.slide <= ZERO:
            raise BadWindowError(f"slide {self.slide} must be above zero")

    @property
    def is_sampling(self) -> bool:
        """Say whether there are gaps between the spans, whose tuples belong to none."""
        return self.slide is not None and self.slide > self.size


@dataclass(frozen=True, slots=True)
class RowsWindow:
    """The last `rows` tuples, every `slide` tuples, of the stream or of each partition."""

    rows: int
    slide: int | None = None
    partition_by: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse counts below one and slides that skip tuples."""
        if self.rows < 1:
            raise BadWindowError(f"ROWS {self.rows} must be at least 1")
        if self.slide is not None and not 1 <= self.slide <= self.rows:
            raise BadWindowError(f"slide {self.slide} must be between 1 and ROWS {self.rows}")


@dataclass(frozen=True, slots=True)
class GenericWindow:
    """MavStream's window (MAV-26): first bounds, the hop of each, the end of the query.

    Times are half-open; of tuple numbers, END is the last one inside. Hops below zero go back
    over history.
    """

    begin: Bound
    end: Bound
    hop_lower: Hop
    hop_upper: Hop
    until: Bound | None = None

    def __post_init__(self) -> None:
        """Refuse windows that hold nothing, never move, go both ways or end before they begin."""
        bounds = (
            (self.begin, self.end) if self.until is None else (self.begin, self.end, self.until)
        )
        _refuse_mixture(bounds, (self.hop_lower, self.hop_upper))
        _refuse_before_first("BEGIN", self.begin)
        self._check_size()
        self._check_assigner()
        self._check_until()

    @property
    def is_reverse(self) -> bool:
        """Say whether it goes back over history."""
        return min(_step(self.hop_lower), _step(self.hop_upper)) < 0

    def _check_size(self) -> None:
        size = _position(self.end) - _position(self.begin)
        if size < 0 or (size == 0 and isinstance(self.begin, datetime)):
            when = "after" if isinstance(self.begin, datetime) else "at or after"
            raise BadWindowError(f"END {self.end} must lie {when} BEGIN {self.begin}")

    def _check_assigner(self) -> None:
        lower, upper = _step(self.hop_lower), _step(self.hop_upper)
        if lower * upper < 0:
            raise BadWindowError(
                "the two hops move the window's ends in opposite ways",
                hint="give both hops one sign; an end whose hop is 0 stays",
            )
        if lower < 0 and upper == 0:
            raise BadWindowError(
                "a window whose start alone moves back never ends",
                hint="HOP (0, -u) moves the end back, HOP (-h, -h) both ends",
            )
        if lower == upper == 0 and self.until is None:
            raise BadWindowError(
                "a window with HOP (0, 0) never moves",
                hint="for one window only, say UNTIL and END's own bound",
            )

    def _check_until(self) -> None:
        if self.until is None:
            return
        until = _position(self.until)
        if not self.is_reverse:
            if until < _position(self.end):
                raise BadWindowError(
                    f"UNTIL {self.until} lies before END {self.end}: no window would be whole"
                )
            return
        # Where the start stays, the end comes back towards it, and may stop on the way.
        word, limit = ("BEGIN", self.begin) if _step(self.hop_lower) else ("END", self.end)
        if until >= _position(limit):
            raise BadWindowError(
                f"UNTIL {self.until} must lie before {word} {limit}",
                hint="windows with hops below zero go back in time, and end there",
            )


@dataclass(frozen=True, slots=True)
class LandmarkWindow:
    """A fixed start, and an end that grows by `every`."""

    start: Bound
    every: Hop

    def __post_init__(self) -> None:
        """Refuse an end that does not grow."""
        _refuse_mixture((self.start,), (self.every,))
        _refuse_before_first("FROM", self.start)
        if _step(self.every) <= 0:
            raise BadWindowError(
                f"EVERY {self.every} must be above zero",
                hint="[BEGIN a END b HOP (0, -u)] is a landmark that goes back",
            )


@dataclass(frozen=True, slots=True)
class SessionWindow:
    """Runs of tuples whose neighbours are at most `gap` apart."""

    gap: timedelta

    def __post_init__(self) -> None:
        """Refuse a gap that would close at once."""
        if self.gap <= ZERO:
            raise BadWindowError(f"SESSION GAP {self.gap} must be above zero")


@dataclass(frozen=True, slots=True)
class SemanticWindow:
    """Tuples up to the one where `condition` (SQL over the content) first holds.

    The parser sees to it that the condition is over the content: it holds an aggregate.
    """

    condition: str


Window = RangeWindow | RowsWindow | GenericWindow | LandmarkWindow | SessionWindow | SemanticWindow


def _refuse_mixture(bounds: tuple[Bound, ...], hops: tuple[Hop, ...]) -> None:
    """Refuse times among tuple numbers, and times of no zone."""
    kinds = {isinstance(bound, int) for bound in bounds} | {isinstance(hop, int) for hop in hops}
    if len(kinds) > 1:
        raise BadWindowError(
            "a window's bounds and hops are all of time or all of tuple numbers",
            hint="TIMESTAMP '2026-01-31 12:00:00' hops by 1 HOUR, tuple 100 by 10",
        )
    if any(isinstance(bound, datetime) and bound.tzinfo is None for bound in bounds):
        raise BadWindowError("a window's times have a zone", hint="give them tzinfo=UTC")


def _refuse_before_first(word: str, bound: Bound) -> None:
    if isinstance(bound, int) and bound < 1:
        raise BadWindowError(f"{word} {bound} must be at least 1", hint="tuples are counted from 1")


def _position(bound: Bound) -> int:
    """Return a bound's place on its axis: microseconds since 1970, or the tuple's number."""
    return bound if isinstance(bound, int) else (bound - EPOCH) // MOMENT


def _step(hop: Hop) -> int:
    """Return a hop on its axis."""
    return hop if isinstance(hop, int) else hop // MOMENT
