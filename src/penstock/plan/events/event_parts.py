"""What stands for a constituent: a primitive event, or the whole expression of another event.

An event that is nothing but a detection becomes a part of those that are made of it, so that the
detection graph has it once. One that filters or computes, or that matches by other keys, is fed
as rows. So is one that a shorter WITHIN would change: an event means the same wherever it is read.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from penstock.model.event_forms import constituents
from penstock.model.events import (
    And,
    AnyOf,
    Aperiodic,
    Event,
    Not,
    Or,
    Periodic,
    Plus,
    Primitive,
    Seq,
    Watch,
    parts_of,
    primitives,
)
from penstock.plan.events.event_links import Attribute, Links
from penstock.plan.events.occurrences import lasts, masked
from penstock.plan.operators import Detect, Operator, key
from penstock.plan.operators.detect import END, START
from penstock.plan.relations.sources import Analyst

Own = Callable[[str], str]  # from a label to the one that it gets


@dataclass(frozen=True, slots=True)
class EventPart:
    """An expression, its primitive events, and where its attributes are.

    `names` are what users call the leaves of the expression.
    """

    label: str
    event: Event
    primitives: tuple[Operator, ...]
    shows: Mapping[str, Attribute] | None
    names: Mapping[str, str]

    def inner(self, column: str) -> Attribute:
        """Return the label in the expression and the column of an attribute."""
        return (self.label, column) if self.shows is None else self.shows[column]


@dataclass(frozen=True, slots=True)
class ConstituentClauses:
    """What an expression says of its constituents.

    `used` are the attributes that are spoken of, `like` is how the whole is watched.
    """

    links: Links
    used: set[Attribute]
    like: Watch
    analyst: Analyst


def part_of(
    label: str, operator: Operator, around: ConstituentClauses, within: int | None
) -> EventPart:
    """Return what stands for a constituent; `within` is the shortest span around it."""
    links, like = around.links, around.like
    keys = links.keys[label]
    spoken_of = {column for owner, column in around.used if owner == label}
    if isinstance(operator, Detect) and not links.masks[label] and not {START, END} & spoken_of:
        order = _key_order(operator, keys) if _fits(operator.watch.event, within) else None
        if order is not None and replace(operator.watch, event=like.event) == like:
            return _opened(label, operator, order)
    occurs = masked(operator, [*links.masks[label], *links.guards[label]], around.analyst)
    leaf = Primitive(key(occurs), label, keys, lasts(occurs))
    return EventPart(label, leaf, (occurs,), None, {key(occurs): label})


def _fits(event: Event, within: int | None) -> bool:
    """Say whether a span around an event leaves its detections as they are."""
    own = None if isinstance(event, Primitive) else event.within
    return within is None or (own is not None and own <= within)


def _key_order(detect: Detect, keys: tuple[str, ...]) -> tuple[int, ...] | None:
    """Return which of a detection's keys each of these columns is; None where they are others."""
    leaves = {leaf.label: leaf for leaf in primitives(detect.watch.event)}
    if any(len(leaf.key) != len(keys) for leaf in leaves.values()):
        return None
    shows = dict(detect.shows)
    found = []
    for column in keys:
        place, _, source = shows.get(column, "").partition(".")
        leaf = leaves.get(place)
        if leaf is None or source not in leaf.key:
            return None
        found.append(leaf.key.index(source))
    return tuple(found) if sorted(found) == list(range(len(keys))) else None


def _opened(label: str, detect: Detect, order: tuple[int, ...]) -> EventPart:
    """Return another event's expression as a part, its labels told apart from all others."""
    optional = {each.label for each in constituents(detect.watch)}

    def own(place: str) -> str:
        return f"{label}/{place}" if place in optional else ""

    shows = {}
    for name, source in detect.shows:
        place, _, column = source.partition(".")
        shows[name] = (own(place), column)
    event = relabelled(detect.watch.event, own, order)
    names = {key(each): label for each in detect.primitives}
    return EventPart(label, event, detect.primitives, shows, names)


def relabelled(event: Event, own: Own, order: tuple[int, ...] | None = None) -> Event:
    """Return the expression with other labels, and with its keys in another order."""

    def again(part: Event) -> Event:
        return relabelled(part, own, order)

    match event:
        case Primitive():
            keys = event.key if order is None else tuple(event.key[n] for n in order)
            return replace(event, label=own(event.label), key=keys)
        case Or() | And() | Seq() | AnyOf():
            return replace(event, parts=tuple(map(again, event.parts)))
        case Not() | Aperiodic():
            first, middle, last = map(again, parts_of(event))
            return replace(event, first=first, middle=middle, last=last)
        case Periodic():
            first, last = map(again, parts_of(event))
            return replace(event, first=first, last=last, label=own(event.label))
        case Plus():
            return replace(event, event=again(event.event))
