"""The event detection graph: equal expressions in one mode are one node.

Primitive events and OR of such have no mode, so that all modes share them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.events.occurrences.bounds import OccurrenceBounds
from penstock.events.operators.aperiodic import Aperiodically
from penstock.events.operators.conjunction import Conjunction
from penstock.events.operators.disjunction import Either
from penstock.events.operators.operator import ConstituentSlot, EventOperator, Slots
from penstock.events.operators.periodic import Periodically
from penstock.events.operators.plus import Later
from penstock.events.operators.sequence import Following
from penstock.model.event_forms import event_text, is_instant, shared_form
from penstock.model.events import (
    And,
    AnyOf,
    Aperiodic,
    Event,
    Mode,
    Not,
    Or,
    Periodic,
    Plus,
    Primitive,
    Seq,
    Watch,
    parts_of,
)

NEWEST = (Mode.RECENT, Mode.RECENT_UNIQUE)


@dataclass(frozen=True, slots=True)
class EventNode:
    """A node: its event, how it is detected, and its parts' names; leaves have no operator."""

    name: str
    event: Event
    mode: Mode | None
    parts: tuple[str, ...]
    operator: EventOperator | None
    slots: Slots


@dataclass
class EventGraph:
    """Nodes by name, parts before what is made of them, and each watch's root."""

    nodes: dict[str, EventNode] = field(default_factory=dict)
    roots: dict[str, str] = field(default_factory=dict)

    def watchers(self) -> Mapping[str, tuple[str, ...]]:
        """Return which watches need each node."""
        found: dict[str, dict[str, None]] = {name: {} for name in self.nodes}
        for watch, root in self.roots.items():
            waiting = [root]
            while waiting:
                name = waiting.pop()
                found[name][watch] = None
                waiting += self.nodes[name].parts
        return {name: tuple(watches) for name, watches in found.items()}


def graph_of(watches: Mapping[str, Watch]) -> EventGraph:
    """Return the graph that detects all of these."""
    graph = EventGraph()
    for name, watch in watches.items():
        graph.roots[name] = _placed(graph, shared_form(watch.event).event, watch)
    return graph


def _placed(graph: EventGraph, event: Event, watch: Watch) -> str:
    name = _name(event, watch)
    if name in graph.nodes:
        return name
    parts = tuple(_placed(graph, part, watch) for part in parts_of(event))
    if isinstance(event, Primitive):
        graph.nodes[name] = EventNode(name, event, None, (), None, (ConstituentSlot(event.name),))
        return name
    operator = _operator(event, watch, [graph.nodes[part].slots for part in parts])
    mode = watch.mode if _has_mode(event) else None
    graph.nodes[name] = EventNode(name, event, mode, parts, operator, operator.slots)
    return name


def _name(event: Event, watch: Watch) -> str:
    words = [event_text(event)]
    if isinstance(event, Primitive) and event.lasts:
        words.append("lasting")
    if _has_mode(event):
        words.append(watch.mode)
        words += ["point"] if watch.point and _compares_starts(event) else []
        words += [f"limit {watch.cap}"] if watch.cap is not None else []
    return " ".join(words)


def _has_mode(event: Event) -> bool:
    if isinstance(event, Or):
        return any(_has_mode(part) for part in event.parts)
    return not isinstance(event, Primitive)


def _compares_starts(event: Event) -> bool:
    """Say whether point semantics could differ from interval semantics somewhere in an event."""
    match event:
        case Seq(parts=(_, *later)):
            compared = tuple(later)
        case Not() | Aperiodic():
            compared = (event.middle, event.last)
        case Periodic():
            compared = (event.last,)
        case _:
            compared = ()
    return not all(is_instant(part) for part in compared) or any(
        _compares_starts(part) for part in parts_of(event)
    )


def _operator(event: Event, watch: Watch, slots: list[Slots]) -> EventOperator:
    def at_once(*parts: Event) -> bool:
        return watch.point or all(is_instant(part) for part in parts)

    def bounds(within: int | None, *, replaces: bool) -> OccurrenceBounds:
        """Leave the cap out where newer ones replace older ones anyway."""
        cap = None if replaces and watch.mode in NEWEST else watch.cap
        return OccurrenceBounds(within, cap, watch.point)

    mode = watch.mode
    match event:
        case Or():
            return Either(bounds(event.within, replaces=True), tuple(slots))
        case Seq(parts=(_, last)):
            once = at_once(last)
            limits = bounds(event.within, replaces=once)
            return Following(mode, limits, slots[0], slots[1], once)
        case Not():
            once = at_once(event.last)
            limits = bounds(event.within, replaces=once)
            return Following(mode, limits, slots[0], slots[2], once, slots[1])
        case AnyOf():
            limits = bounds(event.within, replaces=True)
            return Conjunction(mode, limits, event.count, tuple(slots))
        case Aperiodic():
            once = at_once(event.middle, event.last)
            # A* caps its middles, too, which nothing replaces.
            limits = bounds(event.within, replaces=once and not event.all_at_last)
            first, middle, final = slots
            star = event.all_at_last
            return Aperiodically(mode, limits, first, middle, final, once, star)
        case Periodic():
            once = at_once(event.last)
            limits = bounds(event.within, replaces=once)
            opening, closing = slots
            star = event.all_at_last
            return Periodically(mode, limits, event.every, opening, closing, once, star)
        case Plus():
            return Later(
                mode, OccurrenceBounds(event.within, None, watch.point), event.after, slots[0]
            )
        case Primitive() | And() | Seq():
            raise AssertionError(f"not in the shared form: {event}")
