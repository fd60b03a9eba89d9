"""`system.events`: what events are made of, in which modes they are read, and what that gave."""

from collections.abc import Iterator
from dataclasses import dataclass

from penstock.engine.states.events.detect import DetectState, EventsState
from penstock.engine.states.events.detection import Detection
from penstock.model.events import Mode
from penstock.plan.operators import Detect, Operator, key, walk
from penstock.runtime.loop.supervisor import Supervisor
from penstock.runtime.names.directory import Directory, KnownEvent
from penstock.runtime.topology.topology import Topology
from penstock.runtime.views.view import Row, View, columns, first_line
from penstock.runtime.work.live_unit import LiveUnit
from penstock.sql import Combined, names_of

PRIMITIVE = "primitive"


@dataclass(frozen=True, slots=True)
class Use:
    """An event as it is read: in which mode, by which queries, over which operators."""

    mode: Mode
    readers: tuple[str, ...]
    root: Operator

    @property
    def detect(self) -> Detect | None:
        """Return the detection of the event itself; a primitive event has none."""
        return detect_of(self.root)


def detect_of(root: Operator) -> Detect | None:
    """Return the detection of an event over these operators; a primitive one has none."""
    found = [node for node in walk(root) if isinstance(node, Detect)]
    return found[-1] if found else None


def event_rows(directory: Directory, supervisor: Supervisor) -> list[Row]:
    """Return a row for every mode in which an event is read, or one where nobody reads it."""
    with supervisor.resting():
        return [row for known in directory.events() for row in _rows(known, supervisor.topology)]


def uses_of(known: KnownEvent, topology: Topology) -> list[Use]:
    """Return how an event is read now, a primitive one once, while quiesced."""
    queries = topology.graph.queries_of()
    roots = {key(root): (mode, root) for mode, root in reversed(known.bound.items())}
    uses = [(roots[name], readers) for name in roots if (readers := queries.get(name))]
    return [Use(mode, tuple(readers), root) for (mode, root), readers in reversed(uses)]


def detection_of(detect: Detect, topology: Topology) -> Detection | None:
    """Return what detects an event, or None where it does not run."""
    live = _live_of(detect, topology)
    state = live.state if live is not None else None
    return state.detection if isinstance(state, DetectState | EventsState) else None


def _live_of(detect: Detect, topology: Topology) -> LiveUnit | None:
    """Return the unit that detects an event: its bundle's, or its own with what is above it."""
    name, units = key(detect), topology.units.values()
    own = (live for live in units if live.unit.stateful and key(live.unit.stateful) == name)
    return topology.writers.get(name) or next(own, None)


def operator_of(known: KnownEvent) -> str:
    """Return the operator that combines an event's constituents."""
    source = known.event.source
    return source.operation if isinstance(source, Combined) else PRIMITIVE


def _rows(known: KnownEvent, topology: Topology) -> Iterator[Row]:
    row: Row = {
        "event": known.definition.name,
        "operator": operator_of(known),
        "source": ", ".join(sorted(names_of(known.event))),
    }
    uses = uses_of(known, topology)
    for use in uses:
        yield row | _figures(use, topology)
    if not uses:
        yield row | {"readers": 0, "state": "UNREAD"}


def _figures(use: Use, topology: Topology) -> Row:
    detect = use.detect
    row: Row = {"readers": len(use.readers), "state": "RUNNING"}
    row["mode"] = None if detect is None else str(use.mode)
    causes = [q.cause for name in use.readers if (q := topology.queries.get(name)) and q.cause]
    if causes:
        row |= {"state": "FAILED", "cause": first_line(causes[0])}
    if detect is None:
        writer = topology.writers.get(key(use.root))
        return row | {"detections": writer.rows_out if writer is not None else None}
    detection, name = detection_of(detect, topology), key(detect)
    if detection is None:
        return row
    nodes = [node for node in detection.detecting.graph if node.parts and name in node.watches]
    live = _live_of(detect, topology)
    return row | {
        "detections": detection.found.get(name, 0),
        "partial_matches": sum(node.held for node in nodes),
        "dropped": sum(node.dropped for node in nodes),
        "late": live.late_rows.get(name, 0) if live is not None else 0,
    }


EVENTS = View(
    "events",
    "events, in which modes they are read, and what that gave",
    columns(
        "event STRING, operator STRING, source STRING, mode STRING, readers BIGINT, "
        "detections BIGINT, partial_matches BIGINT, dropped BIGINT, late BIGINT, state STRING, "
        "cause STRING"
    ),
    lambda of: event_rows(of.directory, of.supervisor),
)
