"""Event expressions (Snoop) and the modes in which they are detected, as frozen data.

An expression is a tree. Its leaves name primitive events: queries, streams, or other events whose
rows are occurrences. Spans and periods are whole microseconds, as event times are. What each
operator and mode means is written in `docs/reference/events.md`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from penstock.errors import BadEventError


class Mode(StrEnum):
    """Which occurrences combine, and what is consumed when they do."""

    RECENT = "recent"
    RECENT_UNIQUE = "recent_unique"
    CONTINUOUS = "continuous"
    CUMULATIVE = "cumulative"
    CHRONICLE = "chronicle"
    UNRESTRICTED = "unrestricted"


# Modes in which a row that has taken part in a detection takes part in no other one.
CONSUMING = frozenset({Mode.RECENT_UNIQUE, Mode.CONTINUOUS, Mode.CUMULATIVE, Mode.CHRONICLE})


@dataclass(frozen=True, slots=True)
class Primitive:
    """An event whose occurrences come from outside, as rows.

    `label` names the constituent in the detections. `key` are the columns whose values have to
    agree with those of the other constituents, in order. `lasts` says that occurrences have a
    start before their end (a composite event that is fed as rows).
    """

    name: str
    label: str = ""
    key: tuple[str, ...] = ()
    lasts: bool = False


@dataclass(frozen=True, slots=True)
class Or:
    """Occurs when any of its parts does."""

    parts: tuple["Event", ...]
    within: int | None = None

    def __post_init__(self) -> None:
        """Refuse fewer than two parts."""
        _check_parts("OR", self.parts)
        _check_span(self.within)


@dataclass(frozen=True, slots=True)
class And:
    """Occurs when all of its parts have occurred, in any order."""

    parts: tuple["Event", ...]
    within: int | None = None

    def __post_init__(self) -> None:
        """Refuse fewer than two parts."""
        _check_parts("AND", self.parts)
        _check_span(self.within)


@dataclass(frozen=True, slots=True)
class Seq:
    """Occurs when its parts have occurred one after the other."""

    parts: tuple["Event", ...]
    within: int | None = None

    def __post_init__(self) -> None:
        """Refuse fewer than two parts."""
        _check_parts("SEQ", self.parts)
        _check_span(self.within)


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Occurs when `count` of its parts have occurred, in any order."""

    count: int
    parts: tuple["Event", ...]
    within: int | None = None

    def __post_init__(self) -> None:
        """Refuse counts that no occurrence could reach, or that any would."""
        _check_parts("ANY", self.parts)
        _check_span(self.within)
        if not 1 <= self.count <= len(self.parts):
            raise BadEventError(
                f"ANY({self.count}, …) of {len(self.parts)} events",
                hint=f"the number must be between 1 and {len(self.parts)}",
            )


@dataclass(frozen=True, slots=True)
class Not:
    """Occurs at `last` if no `middle` lay between `first` and it."""

    middle: "Event"
    first: "Event"
    last: "Event"
    within: int | None = None

    def __post_init__(self) -> None:
        """Refuse spans that hold nothing."""
        _check_span(self.within)


@dataclass(frozen=True, slots=True)
class Aperiodic:
    """A and A*: the `middle`s between `first` and `last`; one by one, or all at `last`."""

    first: "Event"
    middle: "Event"
    last: "Event"
    all_at_last: bool = False
    within: int | None = None

    def __post_init__(self) -> None:
        """Refuse spans that hold nothing."""
        _check_span(self.within)


@dataclass(frozen=True, slots=True)
class Periodic:
    """P and P*: ticks every `every` after `first` until `last`; one by one, or all at `last`.

    `label` names the constituent that holds the ticks, whose one column is their time.
    """

    first: "Event"
    every: int
    last: "Event"
    all_at_last: bool = False
    label: str = ""
    within: int | None = None

    def __post_init__(self) -> None:
        """Refuse periods that never move."""
        _check_span(self.within)
        if self.every <= 0:
            raise BadEventError(
                f"a period of {self.every} microseconds",
                hint="a period must be above zero",
            )


@dataclass(frozen=True, slots=True)
class Plus:
    """Occurs `after` microseconds after `event`."""

    event: "Event"
    after: int
    within: int | None = None

    def __post_init__(self) -> None:
        """Refuse times that are not in the future."""
        _check_span(self.within)
        if self.after <= 0:
            raise BadEventError(
                f"PLUS {self.after} microseconds", hint="the time to add must be above zero"
            )


Event = Primitive | Or | And | Seq | AnyOf | Not | Aperiodic | Periodic | Plus


@dataclass(frozen=True, slots=True)
class Watch:
    """An event as somebody wants it detected.

    `point` compares only the ends of occurrences, as Snoop first did. `cap` bounds what each
    operator holds of each part and key; the oldest goes, and is counted.
    """

    event: Event
    mode: Mode = Mode.RECENT
    point: bool = False
    cap: int | None = None

    def __post_init__(self) -> None:
        """Refuse caps that hold nothing, and keys that cannot agree."""
        if self.cap is not None and self.cap < 1:
            raise BadEventError(f"a limit of {self.cap}", hint="a limit must be at least 1")
        if len({len(each.key) for each in primitives(self.event)}) > 1:
            raise BadEventError(
                "some constituents have other key columns than the rest",
                hint="PARTITION BY must name a column of every event",
            )


def parts_of(event: Event) -> tuple[Event, ...]:
    """Return the events that an event is made of, in the order of their roles."""
    match event:
        case Primitive():
            return ()
        case Or() | And() | Seq() | AnyOf():
            return event.parts
        case Not() | Aperiodic():
            return (event.first, event.middle, event.last)
        case Periodic():
            return (event.first, event.last)
        case Plus():
            return (event.event,)


def primitives(event: Event) -> tuple[Primitive, ...]:
    """Return the leaves of an expression, from left to right, with repetitions."""
    if isinstance(event, Primitive):
        return (event,)
    return tuple(leaf for part in parts_of(event) for leaf in primitives(part))


def _check_parts(operator: str, parts: Sequence[Event]) -> None:
    if len(parts) < 2:  # noqa: PLR2004 - an operator that combines needs two
        raise BadEventError(f"{operator} of {len(parts)} events", hint="name at least two")


def _check_span(within: int | None) -> None:
    if within is not None and within <= 0:
        raise BadEventError(f"WITHIN {within} microseconds", hint="the span must be above zero")
