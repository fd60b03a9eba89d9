"""The one form that equal event expressions share, and what can be told from it.

In this form SEQ is binary from the left, AND is ANY of all its parts, a WITHIN stands on every
operator below it, and labels are gone. The parts of OR and ANY stand as they were given: it is
their order when one row is an occurrence of several (the binder puts them in that of their names).
"""

from dataclasses import dataclass, replace

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


@dataclass(frozen=True, slots=True)
class Form:
    """An expression in the shared form, and the labels of its constituents in their order there."""

    event: Event
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DetectedConstituent:
    """One place of a detection: which event's rows, and whether several or none can stand there.

    The ticks of a periodic event have no `primitive`; their one column is `TICK`.
    """

    label: str
    primitive: str
    plural: bool = False
    optional: bool = False


TICK = "tick"


def shared_form(event: Event) -> Form:
    """Return an expression in the form that all equal ones share."""
    return _formed(event, None)


def constituents(watch: Watch) -> tuple[DetectedConstituent, ...]:
    """Return the places of a watch's detections, in the order of the shared form."""
    form = shared_form(watch.event)
    places = _places(form.event, watch.mode is Mode.CUMULATIVE)
    return tuple(
        replace(each, label=label) for each, label in zip(places, form.labels, strict=True)
    )


def is_instant(event: Event) -> bool:
    """Say whether every occurrence begins when it ends."""
    match event:
        case Primitive():
            return not event.lasts
        case Or():
            return all(is_instant(part) for part in event.parts)
        case Aperiodic():
            return not event.all_at_last and is_instant(event.middle)
        case Periodic():
            return not event.all_at_last
        case Plus():
            return True
        case _:
            return False


def unbounded(watch: Watch) -> tuple[str, ...]:
    """Say what a watch would hold more and more of; nothing where WITHIN or a cap bounds it all."""
    if watch.cap is not None:
        return ()
    return tuple(dict.fromkeys(_growths(shared_form(watch.event).event, watch)))


def event_text(event: Event) -> str:
    """Return an expression as text, without labels; equal text means an equal expression."""
    match event:
        case Primitive():
            return f"{event.name}[{', '.join(event.key)}]" if event.key else event.name
        case Or() | And() | Seq():
            sign = type(event).__name__.upper()
            body = "(" + f" {sign} ".join(event_text(part) for part in event.parts) + ")"
        case AnyOf():
            parts = ", ".join(event_text(part) for part in event.parts)
            body = f"ANY({event.count}, {parts})"
        case Not():
            ends = f"[{event_text(event.first)}, {event_text(event.last)}]"
            body = f"NOT({event_text(event.middle)}){ends}"
        case Aperiodic():
            roles = ", ".join(event_text(part) for part in (event.first, event.middle, event.last))
            body = f"A{'*' if event.all_at_last else ''}({roles})"
        case Periodic():
            ends = f"{event_text(event.first)}, {event.every} us, {event_text(event.last)}"
            body = f"P{'*' if event.all_at_last else ''}({ends})"
        case Plus():
            body = f"({event_text(event.event)} PLUS {event.after} us)"
    return body if event.within is None else f"{body} WITHIN {event.within} us"


def _formed(event: Event, outer: int | None) -> Form:
    if isinstance(event, Primitive):
        return Form(replace(event, label=""), (event.label,))
    spans = [span for span in (event.within, outer) if span is not None]
    within = min(spans, default=None)
    match event:
        case Seq():
            return _sequence([_formed(part, within) for part in event.parts], within)
        case Or():
            return _either(event.parts, within)
        case And():
            return _several(len(event.parts), event.parts, within)
        case AnyOf():
            if event.count == 1:
                return _either(event.parts, within)
            return _several(event.count, event.parts, within)
        case Not():
            first, last = _formed(event.first, within), _formed(event.last, within)
            middle = _formed(event.middle, within)
            made = Not(middle.event, first.event, last.event, within)
            return Form(made, first.labels + last.labels)
        case Aperiodic():
            return _aperiodic(event, within)
        case Periodic():
            first, last = _formed(event.first, within), _formed(event.last, within)
            star = event.all_at_last
            ticking = Periodic(first.event, event.every, last.event, star, within=within)
            labels = (*first.labels, event.label)
            return Form(ticking, labels + last.labels if star else labels)
        case Plus():
            inner = _formed(event.event, within)
            return Form(Plus(inner.event, event.after, within), inner.labels)


def _aperiodic(event: Aperiodic, within: int | None) -> Form:
    first, middle, last = (
        _formed(part, within) for part in (event.first, event.middle, event.last)
    )
    star = event.all_at_last
    made = Aperiodic(first.event, middle.event, last.event, star, within)
    labels = first.labels + middle.labels
    return Form(made, labels + last.labels if star else labels)


def _sequence(parts: list[Form], within: int | None) -> Form:
    made = parts[0]
    for part in parts[1:]:
        made = Form(Seq((made.event, part.event), within), made.labels + part.labels)
    return made


def _either(parts: tuple[Event, ...], within: int | None) -> Form:
    formed = [_formed(part, within) for part in parts]
    event = Or(tuple(part.event for part in formed), within)
    if is_instant(event):
        event = replace(event, within=None)
    return Form(event, tuple(label for part in formed for label in part.labels))


def _several(count: int, parts: tuple[Event, ...], within: int | None) -> Form:
    formed = [_formed(part, within) for part in parts]
    event = AnyOf(count, tuple(part.event for part in formed), within)
    return Form(event, tuple(label for part in formed for label in part.labels))


def _places(event: Event, cumulative: bool) -> list[DetectedConstituent]:
    match event:
        case Primitive():
            return [DetectedConstituent("", event.name)]
        case Or():
            parts = [_places(part, cumulative) for part in event.parts]
            return [replace(each, optional=True) for part in parts for each in part]
        case Seq() | Not():
            first, *_, last = parts_of(event)
            return _listed(_places(first, cumulative), cumulative) + _places(last, cumulative)
        case And() | AnyOf():
            places = [each for part in event.parts for each in _places(part, cumulative)]
            some = isinstance(event, AnyOf) and event.count < len(event.parts)
            places = [replace(each, optional=each.optional or some) for each in places]
            return _listed(places, cumulative)
        case Aperiodic() | Periodic():
            opened = _listed(_places(event.first, cumulative), cumulative)
            inside = (
                _places(event.middle, cumulative)
                if isinstance(event, Aperiodic)
                else [DetectedConstituent("", "")]
            )
            closed = _places(event.last, cumulative) if event.all_at_last else []
            return opened + _listed(inside, event.all_at_last) + closed
        case Plus():
            return _listed(_places(event.event, cumulative), cumulative)


def _listed(places: list[DetectedConstituent], plural: bool) -> list[DetectedConstituent]:
    return [replace(each, plural=True) for each in places] if plural else places


def _growths(event: Event, watch: Watch) -> list[str]:
    if isinstance(event, Primitive):
        return []
    found = [growth for part in parts_of(event) for growth in _growths(part, watch)]
    if event.within is None and (own := _growth(event, watch)):
        found.append(own)
    return found


def _growth(event: Event, watch: Watch) -> str:
    newest = watch.mode in {Mode.RECENT, Mode.RECENT_UNIQUE}

    def at_once(*parts: Event) -> bool:
        return watch.point or all(is_instant(part) for part in parts)

    match event:
        case Seq(parts=(first, last)):
            grows = not (newest and at_once(last))
            return f"SEQ keeps each {event_text(first)} until a {event_text(last)}" if grows else ""
        case AnyOf():
            names = ", ".join(event_text(part) for part in event.parts)
            return "" if newest else f"AND or ANY keeps each of {names} until others come"
        case Not():
            grows = not (newest and at_once(event.last))
            ends = f"each {event_text(event.first)} until a {event_text(event.last)}"
            return f"NOT keeps {ends}" if grows else ""
        case Aperiodic(all_at_last=True):
            return f"A* keeps each {event_text(event.middle)} until a {event_text(event.last)}"
        case Aperiodic():
            grows = not (newest and at_once(event.middle, event.last))
            ends = f"each {event_text(event.first)} until a {event_text(event.last)}"
            return f"A keeps {ends}" if grows else ""
        case Periodic(all_at_last=True):
            return f"P* keeps its ticks until a {event_text(event.last)}"
        case Periodic():
            grows = not (newest and at_once(event.last))
            ends = f"each {event_text(event.first)} until a {event_text(event.last)}"
            return f"P keeps {ends}" if grows else ""
        case _:
            return ""
