"""From a window in brackets to the sequence of windows that an aggregate answers for."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from penstock.errors import BadQueryError
from penstock.model.schema import quoted
from penstock.model.windows import (
    GenericWindow,
    LandmarkWindow,
    RangeWindow,
    RowsWindow,
    SemanticWindow,
    Window,
)
from penstock.plan.operators import EventTime, Filter, Operator, Ordered
from penstock.plan.operators.windows.window_aggregate import Axis
from penstock.plan.operators.windows.window_assigner import WindowAssigner, spans

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
INSTANT = spans(1, 1)  # each moment is a window: GROUP BY an event time


@dataclass(frozen=True, slots=True)
class Sequence:
    """Windows on an axis, the column that is the axis, and whether history counts."""

    assigner: WindowAssigner
    time: EventTime
    axis: Axis = "time"
    reads_history: bool = False


def numbered(window: Window | None, operator: Operator) -> Operator:
    """Return the operator with numbered tuples, where the window counts them.

    Tuples in the gaps of sampling windows are left out: they belong to none, and are not late.

    The window stands in FROM: WHERE chooses among the tuples inside and does not move it.
    """
    if isinstance(window, RangeWindow) and window.is_sampling:
        return _inside(window, operator)
    if _orders_tuples(window):
        return Ordered(operator, "time")
    if not _counts_tuples(window):
        return operator
    return Ordered(operator, "number", reads_history=not isinstance(window, RowsWindow))


def sequence(window: Window, operator: Operator) -> Sequence | None:
    """Return the windows, or None for those that their content makes: sessions, WHEN, per key."""
    assigner = _assigner(window)
    if assigner is None:
        return None
    if not operator.times:
        raise BadQueryError(
            "a time window needs a stream with an event time",
            hint="give the stream TIMESTAMP BY, or select window_start in the query below",
        )
    axis: Axis = "number" if _counts_tuples(window) else "time"
    history = not isinstance(window, RangeWindow | RowsWindow)
    return Sequence(assigner, operator.times[0], axis, reads_history=history and axis == "time")


def _inside(window: RangeWindow, operator: Operator) -> Operator:
    assigner = _assigner(window)
    if assigner is None or not operator.times:
        return operator  # `sequence` says what is wrong
    at = f"unix_micros({quoted(operator.times[0].column)})"
    inside = f"pmod({at} - {assigner.begin}L, {assigner.lower}L) < {assigner.end - assigner.begin}L"
    return Filter(operator, (inside,))


def _orders_tuples(window: Window | None) -> bool:
    """Say whether the window needs the order, and counts for itself."""
    match window:
        case RowsWindow(partition_by=keys):
            return bool(keys)
        case _:
            return isinstance(window, SemanticWindow)


def _counts_tuples(window: Window | None) -> bool:
    match window:
        case RowsWindow(partition_by=keys):
            return not keys
        case GenericWindow(begin=int()) | LandmarkWindow(start=int()):
            return True
        case _:
            return False


def _assigner(window: Window) -> WindowAssigner | None:
    match window:
        case RangeWindow(size, slide, offset):
            hop = _micros(slide or size)
            begin = _micros(offset) % hop
            return replace(spans(_micros(size), hop), begin=begin, end=begin + _micros(size))
        case RowsWindow(rows, slide, ()):
            return WindowAssigner(1, 1 + rows, slide or rows, slide or rows)
        case LandmarkWindow(start, every):
            begin, hop = _place(start), _length(every)
            return WindowAssigner(begin, begin + hop, 0, hop)
        case GenericWindow():
            return _generic(window)
        case _:
            return None


def _generic(window: GenericWindow) -> WindowAssigner:
    inside = 1 if isinstance(window.end, int) else 0  # a window's last tuple is inside
    begin, end = _place(window.begin), _place(window.end) + inside
    lower, upper = _length(window.hop_lower), _length(window.hop_upper)
    count = None
    if window.until is not None:
        until = _place(window.until) + (0 if window.is_reverse else inside)
        count = _count(begin, end, lower, upper, until)
    return WindowAssigner(begin, end, lower, upper, count)


def _count(begin: int, end: int, lower: int, upper: int, until: int) -> int:
    """Return how many windows there are until then (docs/decisions/0006)."""
    if upper < 0:  # while they end after it
        return -((until - end) // -upper)
    if lower > 0:  # while they start before it
        return -((begin - until) // lower)
    return (until - end) // upper + 1 if upper else 1


def _place(bound: datetime | int) -> int:
    return bound if isinstance(bound, int) else (bound - EPOCH) // MICROSECOND


def _length(hop: timedelta | int) -> int:
    return hop if isinstance(hop, int) else _micros(hop)


def _micros(length: timedelta) -> int:
    return length // MICROSECOND
