"""When what an operator gives is complete: how far its input's watermark has to come for it.

A filter or a join gives a row as soon as its tuples are there. A window, and a slice of a grid,
waits until no tuple of it can come any more; so do tuples that are put in order, and detections.
"""

from dataclasses import dataclass

from penstock.model.trains import BEGIN_OF_TIME, END_OF_TIME
from penstock.plan.operators import (
    Bundle,
    Detect,
    EventBundle,
    HopJoin,
    Operator,
    Ordered,
    SessionAggregate,
    TimeSlices,
    WindowAggregate,
    key,
)
from penstock.plan.operators.windows.window_assigner import WindowAssigner


@dataclass(frozen=True, slots=True)
class Completion:
    """Rows are complete at a watermark `mark`; they are made of tuples with times before `end`."""

    mark: int
    end: int


def completion(
    operator: Operator, root: Operator, before: int, first: int | None
) -> Completion | None:
    """Return when the earliest rows of a run were complete, on the axis of the input's watermark.

    `root` shows rows of the stateful `operator`, `before` is the watermark ahead of the run, and
    `first` the first event time of the rows. None says that it waits for nothing, or that these
    do not tell.
    """
    found = _completion(operator, _shown(root, first), before, _offset(operator))
    # Provisional rows, and corrections of windows that have closed, wait for nothing.
    return found if found is not None and found.mark > before else None


def waiting_operators(stateful: Operator | None, root: Operator) -> dict[str, Operator]:
    """Return the stateful operators of a unit that may wait, by the roots that show their rows."""
    match stateful:
        case Bundle():
            return {member.key: member.aggregate for member in stateful.members}
        case EventBundle():
            return {member.key: member.detect for member in stateful.members}
        case WindowAggregate() | HopJoin() | SessionAggregate() | TimeSlices():
            return {key(root): stateful}
        case Detect() | Ordered():
            return {key(root): stateful}
        case _:
            return {}


def _completion(
    operator: Operator, shown: int | None, before: int, offset: int
) -> Completion | None:
    is_under_way = BEGIN_OF_TIME < before < END_OF_TIME
    match operator:
        case WindowAggregate() if operator.axis == "time" and is_under_way:
            end = _next_end(operator.assigner, before + offset) - offset
            return Completion(end, end)
        case HopJoin() if is_under_way:
            end = operator.first_window(before + offset) + operator.size - offset
            return Completion(end, end)
        case TimeSlices() if is_under_way:
            end = operator.end_of(operator.open_at(before + offset)) - offset
            return Completion(end, end)
        case SessionAggregate() if shown is not None:
            return Completion(shown + 1 - offset, shown + 1 - offset - operator.gap)
        case Detect() | Ordered(axis="time") if shown is not None:
            return Completion(shown + 1 - offset, shown + 1 - offset)
        case _:
            return None


def _shown(root: Operator, first: int | None) -> int | None:
    """Return the first time of rows on the axis of their own watermark, where they show it."""
    return first - root.times[0].offset if root.times and first is not None else None


def _offset(operator: Operator) -> int:
    """Return by how much an operator's times are ahead of its input's watermark."""
    match operator:
        case WindowAggregate() | SessionAggregate():
            return operator.time.offset
        case HopJoin():
            return operator.joined[0].time.offset
        case TimeSlices():
            return operator.read[0].time.offset
        case _:
            return 0


def _next_end(assigner: WindowAssigner, mark: int) -> int:
    """Return the end of the first window that has not closed at a watermark."""
    if assigner.upper <= 0:  # all close together
        return assigner.end
    closed = assigner.last_closed(mark)
    return assigner.end_of(0 if closed is None else closed + 1)
