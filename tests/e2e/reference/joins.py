"""Joins of windowed streams by nested loops over everything (decision 0006)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeVar

from tests.e2e.reference.windows import Row, micros, spans

Kind = Literal["inner", "left", "right", "full", "semi", "anti"]
Left = TypeVar("Left")
Right = TypeVar("Right")


@dataclass(frozen=True)
class Range:
    """A tuple stays for so many microseconds, the last one included."""

    length: int


@dataclass(frozen=True)
class Rows:
    """A tuple stays while it is among the last so many of its input."""

    count: int


@dataclass(frozen=True)
class Input:
    """A stream of FROM: its tuples in order of arrival, and its window."""

    rows: list[Row]
    window: Range | Rows


@dataclass(frozen=True)
class Step:
    """How the next input of FROM is joined; `on` takes a row of each input up to it."""

    kind: Kind
    on: Callable[..., Any]


class Nulls(dict[str, Any]):
    """A row whose every column is NULL, as an outer join's missing side."""

    def __missing__(self, column: str) -> None:
        return None


class Place(NamedTuple):
    """Where a tuple stands among those of all inputs: they compare as they are ordered."""

    time: int
    input: int
    arrival: int


Combination = tuple[Place | None, ...]


def join(inputs: Sequence[Input], steps: Sequence[Step]) -> list[tuple[Row | None, ...]]:
    """Return the joined rows; None is the missing side of an outer join.

    The inputs are joined from the left, one a step. A semi or anti join gives the left rows alone.
    """
    combinations: list[Combination] = [(place,) for place in _places(inputs, 0)]
    for at, step in enumerate(steps, 1):
        combinations = _joined(inputs, at, step, combinations)
    return [tuple(_row(inputs, place) for place in each) for each in combinations]


def hop_join(
    left: list[Row], right: list[Row], window: tuple[int, int], step: Step
) -> list[tuple[Any, ...]]:
    """Return (window start, window end, left row, right row) of each window joined by itself."""
    size, slide = window
    inside = {(start, end) for side in (left, right) for start, end, _ in spans(side, size, slide)}
    return [
        (start, end, *pair)
        for start, end in sorted(inside)
        for pair in nested_loops(
            _between(left, start, end), _between(right, start, end), step.kind, step.on
        )
    ]


def nested_loops(
    lefts: list[Left],
    rights: list[Right],
    kind: Kind,
    meet: Callable[[Left, Right], Any],
) -> list[tuple[Any, ...]]:
    """Return the pairs that meet, and what the kind of join makes of the others."""
    met = [(i, j) for i, a in enumerate(lefts) for j, b in enumerate(rights) if meet(a, b)]
    matched, found = {i for i, _ in met}, {j for _, j in met}
    lonely: list[tuple[Any, ...]] = [(a, None) for i, a in enumerate(lefts) if i not in matched]
    alone: list[tuple[Any, ...]] = [(None, b) for j, b in enumerate(rights) if j not in found]
    pairs: list[tuple[Any, ...]] = [(lefts[i], rights[j]) for i, j in met]
    match kind:
        case "inner":
            return pairs
        case "left":
            return pairs + lonely
        case "right":
            return pairs + alone
        case "full":
            return pairs + lonely + alone
        case "semi":
            return [(a,) for i, a in enumerate(lefts) if i in matched]
        case "anti":
            return [(a,) for a, _ in lonely]


def _joined(
    inputs: Sequence[Input], at: int, step: Step, combinations: list[Combination]
) -> list[Combination]:
    def meet(left: Combination, right: Place) -> Any:
        whole = (*left, right)
        rows = [_row(inputs, place) or Nulls() for place in whole]
        return _are_there_together(inputs, whole) and step.on(*rows)

    found = nested_loops(combinations, _places(inputs, at), step.kind, meet)
    if step.kind in ("semi", "anti"):
        return [left for (left,) in found]
    nobody: Combination = (None,) * at
    return [(*(nobody if left is None else left), right) for left, right in found]


def _are_there_together(inputs: Sequence[Input], combination: Combination) -> bool:
    present = [place for place in combination if place is not None]
    latest = max(present)
    return all(_is_there(inputs, place, latest) for place in present)


def _is_there(inputs: Sequence[Input], place: Place, latest: Place) -> bool:
    if place == latest:
        return True
    match inputs[place.input].window:
        case Range(length):
            return latest.time - place.time <= length
        case Rows(count):
            before = [each for each in _places(inputs, place.input) if each < latest]
            return place in before[-count:]


def _places(inputs: Sequence[Input], at: int) -> list[Place]:
    rows = inputs[at].rows
    return sorted(Place(micros(row["ts"]), at, arrival) for arrival, row in enumerate(rows))


def _row(inputs: Sequence[Input], place: Place | None) -> Row | None:
    return None if place is None else inputs[place.input].rows[place.arrival]


def _between(rows: list[Row], start: int, end: int) -> list[Row]:
    return [row for row in rows if start <= micros(row["ts"]) < end]
