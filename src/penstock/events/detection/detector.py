"""The seam: occurrences of primitive events in, detections of watched events out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from penstock.errors import BadEventError
from penstock.events.detection.detections import detections
from penstock.events.detection.detector_state import DetectorState, lightened, trimmed
from penstock.events.detection.graph import EventGraph, graph_of
from penstock.events.detection.snapshot import KeptEvents, kept_of, restored
from penstock.events.occurrences.bags import Bagging, Bags
from penstock.events.occurrences.batch import Batch, nothing
from penstock.events.occurrences.event_input import END, ORDER, START, Inlet
from penstock.events.occurrences.keys import KeySpace
from penstock.events.occurrences.parameters import no_parameters
from penstock.events.operators.operator import HeldOccurrences, StepTime
from penstock.model.event_forms import DetectedConstituent, constituents
from penstock.model.events import Primitive, Watch, primitives

__all__ = [
    "END",
    "END_OF_TIME",
    "ORDER",
    "START",
    "Detections",
    "Detector",
    "KeptEvents",
    "NodeFacts",
]

END_OF_TIME = 2**63 - 1
BEGIN_OF_TIME = -(2**62)


@dataclass(frozen=True, slots=True)
class Detections:
    """What a step found.

    `detections` holds a table for each watch: `_start` and `_end` (int64 microseconds), `ORDER`,
    and `label.column` for each constituent's columns, lists where the constituent is plural. Its
    rows are in the order of their ends. `late` holds, by primitive event, rows that came behind the
    watermark and take no part.
    """

    detections: Mapping[str, pa.Table]
    late: Mapping[str, pa.Table]


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """A node of the detection graph as one can look at it."""

    name: str
    operator: str
    mode: str
    parts: tuple[str, ...]
    watches: tuple[str, ...]
    held: int = 0
    dropped: int = 0


class Detector:
    """One graph for all watches; equal sub-expressions in the same mode are one node.

    `step` takes tables by the name of their primitive event: `_end` (int64 microseconds, event
    time), `ORDER` (int64, the order of simultaneous occurrences), `_start` where the event lasts,
    and any columns of parameters, the key columns among them. Everything before the watermark is
    known then; what is at it or after it waits. A step that raises has changed nothing, and
    tables of events that nobody watches are not looked at.

    States that were kept, by a detector of the same or of other watches, are taken up where nodes
    have the same name; states of different keys may be put together.
    """

    def __init__(
        self,
        watches: Mapping[str, Watch],
        schemas: Mapping[str, pa.Schema],
        kept: Sequence[KeptEvents] = (),
    ) -> None:
        self._graph: EventGraph = graph_of(watches)
        self._spaces: dict[tuple[pa.DataType, ...], KeySpace] = {}
        self._places: dict[str, tuple[DetectedConstituent, ...]] = {
            name: constituents(watch) for name, watch in watches.items()
        }
        self._inlets = {
            name: self._inlet(name, schemas[name], watches)
            for name in sorted(
                {leaf.name for w in watches.values() for leaf in primitives(w.event)}
            )
        }
        self._node_spaces = self._spaces_of_nodes()
        rows = {name: no_parameters(inlet.parameters) for name, inlet in self._inlets.items()}
        self._none = {
            name: detections(nothing(len(places)), places, rows, Bags(), None)
            for name, places in self._places.items()
        }
        self._state = restored(self._fresh(), kept, self._graph, self._inlets, self._node_spaces)

    def step(self, occurrences: Mapping[str, pa.Table], watermark: int) -> Detections:
        """Take occurrences in and return the detections that end before the watermark."""
        before = self._state
        arrived, late = self._arrived(occurrences)
        mark = max(watermark, before.watermark)
        until = mark if mark < END_OF_TIME else arrived.latest + 1
        moment = StepTime(mark, before.until, until, Bagging(before.bags))
        ready, waiting = {}, {}
        for name, each in arrived.waiting.items():
            ready[name], waiting[name] = each.released(mark)
        found, held = self._run(ready, moment)
        bags = moment.bagging.bags
        after = replace(
            arrived,
            watermark=mark,
            until=max(until, before.until),
            waiting=waiting,
            held=held,
            bags=bags,
        )
        rows = {name: each.rows for name, each in waiting.items()}
        tables = {
            watch: detections(found[root], self._places[watch], rows, bags, self._node_spaces[root])
            if len(found[root])
            else self._none[watch]
            for watch, root in self._graph.roots.items()
        }
        self._state = lightened(after, self._graph, self._node_spaces, self._inlets)
        return Detections(tables, late)

    def kept(self) -> KeptEvents:
        """Return the state for a checkpoint."""
        return kept_of(
            trimmed(self._state, self._graph), self._graph, self._node_spaces, self._inlets
        )

    def graph(self) -> tuple[NodeFacts, ...]:
        """Return the nodes of the detection graph, parts before what is made of them."""
        watchers = self._graph.watchers()
        state = trimmed(self._state, self._graph)
        facts = []
        for name, node in self._graph.nodes.items():
            held = state.held.get(name, HeldOccurrences(()))
            count = held.count
            if isinstance(node.event, Primitive):
                count = len(state.waiting[node.event.name].batch)
            operator = type(node.event).__name__
            facts.append(
                NodeFacts(
                    name, operator, node.mode or "", node.parts, watchers[name], count, held.dropped
                )
            )
        return tuple(facts)

    def _arrived(
        self, occurrences: Mapping[str, pa.Table]
    ) -> tuple[DetectorState, dict[str, pa.Table]]:
        state = self._state
        late: dict[str, pa.Table] = {}
        waiting, next_id, latest = dict(state.waiting), state.next_id, state.latest
        for name in sorted(occurrences.keys() & self._inlets.keys()):
            table = occurrences[name]
            if table.num_rows and pc.min(table[END]).as_py() < state.watermark:
                missed = pc.less(table[END], state.watermark)
                late[name], table = table.filter(missed), table.filter(pc.invert(missed))
            if table.num_rows:
                waiting[name] = self._inlets[name].arrived(waiting[name], table, next_id)
                next_id += table.num_rows
                latest = max(latest, pc.max(table[END]).as_py())
        return replace(state, waiting=waiting, next_id=next_id, latest=latest), late

    def _run(
        self, ready: Mapping[str, Batch], moment: StepTime
    ) -> tuple[dict[str, Batch], dict[str, HeldOccurrences]]:
        found: dict[str, Batch] = {}
        held: dict[str, HeldOccurrences] = {}
        for name, node in self._graph.nodes.items():
            if isinstance(node.event, Primitive):
                batch = ready[node.event.name]
                found[name] = self._inlets[node.event.name].keyed(batch, node.event.key)
                continue
            parts, before = [found[part] for part in node.parts], self._state.held[name]
            if node.operator is None or not (node.operator.by_clock or any(map(len, parts))):
                found[name], held[name] = nothing(len(node.slots)), before
            else:
                found[name], held[name] = node.operator.step(before, parts, moment)
        return found, held

    def _inlet(self, name: str, schema: pa.Schema, watches: Mapping[str, Watch]) -> Inlet:
        leaves = [leaf for each in watches.values() for leaf in primitives(each.event)]
        keyings = sorted({leaf.key for leaf in leaves if leaf.name == name})
        spaces = []
        for names in keyings:
            types = tuple(schema.field(column).type for column in names)
            space = self._spaces.setdefault(types, KeySpace(types)) if types else None
            spaces.append(space)
        return Inlet(name, schema, tuple(keyings), tuple(spaces))

    def _spaces_of_nodes(self) -> dict[str, KeySpace | None]:
        found: dict[str, KeySpace | None] = {}
        for name, node in self._graph.nodes.items():
            if isinstance(node.event, Primitive):
                inlet = self._inlets[node.event.name]
                found[name] = inlet.spaces[inlet.keyings.index(node.event.key)]
                continue
            spaces = {id(found[part]): found[part] for part in node.parts}
            if len(spaces) > 1:
                raise BadEventError(
                    "the key columns of some constituents have other types than those of the rest",
                    hint="cast them to one type where the events are defined",
                )
            found[name] = next(iter(spaces.values()))
        return found

    def _fresh(self) -> DetectorState:
        operators = {n: node.operator for n, node in self._graph.nodes.items() if node.operator}
        return DetectorState(
            BEGIN_OF_TIME,
            BEGIN_OF_TIME,
            BEGIN_OF_TIME,
            0,
            {name: inlet.empty() for name, inlet in self._inlets.items()},
            {name: operator.empty() for name, operator in operators.items()},
            Bags(),
        )
