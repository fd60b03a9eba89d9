"""SHOW EVENTS: what events are made of, in which modes they are read, and what that gave."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from penstock.engine.states.detect import DetectState, EventsState
from penstock.engine.states.detection import Detection
from penstock.model.events import Mode
from penstock.plan.operators import Detect, Operator, key, walk
from penstock.runtime.names.directory import KnownEvent
from penstock.runtime.system.system import System
from penstock.runtime.work.live_unit import LiveUnit
from penstock.sql import Combined, names_of

EVENT_COLUMNS = pa.schema(
    [
        ("event", pa.string()),
        ("operator", pa.string()),
        ("source", pa.string()),
        ("mode", pa.string()),
        ("readers", pa.int64()),
        ("detections", pa.int64()),
        ("partial_matches", pa.int64()),
        ("dropped", pa.int64()),
        ("late", pa.int64()),
        ("state", pa.string()),
        ("cause", pa.string()),
    ]
)
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
        nodes = list(walk(self.root))
        found = [node for node in nodes if isinstance(node, Detect)]
        return found[-1] if found else None


def event_rows(system: System) -> list[dict[str, Any]]:
    """Return a row for every mode in which an event is read, or one where nobody reads it."""
    with system.supervisor.resting():
        return [row for known in system.directory.events() for row in _rows(system, known)]


def uses_of(system: System, known: KnownEvent) -> list[Use]:
    """Return how an event is read now, a primitive one once, while quiesced."""
    queries = system.topology.graph.queries_of()
    roots = {key(root): (mode, root) for mode, root in reversed(known.bound.items())}
    uses = [(roots[name], readers) for name in roots if (readers := queries.get(name))]
    return [Use(mode, tuple(readers), root) for (mode, root), readers in reversed(uses)]


def detection_of(system: System, detect: Detect) -> Detection | None:
    """Return what detects an event, or None where it does not run."""
    live = _live_of(system, detect)
    state = live.state if live is not None else None
    return state.detection if isinstance(state, DetectState | EventsState) else None


def _live_of(system: System, detect: Detect) -> LiveUnit | None:
    """Return the unit that detects an event: its bundle's, or its own with what is above it."""
    name, units = key(detect), system.topology.units.values()
    own = (live for live in units if live.unit.stateful and key(live.unit.stateful) == name)
    return system.topology.writers.get(name) or next(own, None)


def operator_of(known: KnownEvent) -> str:
    """Return the operator that combines an event's constituents."""
    source = known.event.source
    return source.operation if isinstance(source, Combined) else PRIMITIVE


def _rows(system: System, known: KnownEvent) -> Iterator[dict[str, Any]]:
    row: dict[str, Any] = {
        "event": known.definition.name,
        "operator": operator_of(known),
        "source": ", ".join(sorted(names_of(known.event))),
    }
    uses = uses_of(system, known)
    for use in uses:
        yield row | _figures(system, use)
    if not uses:
        yield row | {"readers": 0, "state": "UNREAD"}


def _figures(system: System, use: Use) -> dict[str, Any]:
    detect = use.detect
    row: dict[str, Any] = {"readers": len(use.readers), "state": "RUNNING"}
    row["mode"] = None if detect is None else str(use.mode)
    causes = [
        q.cause for name in use.readers if (q := system.topology.queries.get(name)) and q.cause
    ]
    if causes:
        row |= {"state": "FAILED", "cause": causes[0].partition("\n")[0]}
    if detect is None:
        writer = system.topology.writers.get(key(use.root))
        return row | {"detections": writer.rows_out if writer is not None else None}
    detection, name = detection_of(system, detect), key(detect)
    if detection is None:
        return row
    nodes = [node for node in detection.detecting.graph if node.parts and name in node.watches]
    live = _live_of(system, detect)
    return row | {
        "detections": detection.found.get(name, 0),
        "partial_matches": sum(node.held for node in nodes),
        "dropped": sum(node.dropped for node in nodes),
        "late": live.late_rows.get(name, 0) if live is not None else 0,
    }
