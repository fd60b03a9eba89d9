"""The shedding controller: what gates take of what waits before them, and what they keep of that.

`quality.py` decides from time to time how much is shed. Between two such looks a burst can fill
all that waits, so a gate that runs also looks at what waits there and then.
Only the supervisor's thread touches it.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from penstock.engine.states.tuples.gate import gate_state
from penstock.engine.trains.buffers import Train
from penstock.engine.trains.gates import least_kept
from penstock.plan.operators import Gate, Scan, WindowAggregate
from penstock.plan.shedding.gated import gates_above
from penstock.qos.contracts.contracts import Contract
from penstock.qos.load.tempo import Curve, TempoWindows
from penstock.qos.load.tuning import IN_TIME, PATIENT_SECONDS, ROUNDS
from penstock.qos.shedding.allocation import Limit
from penstock.qos.shedding.gates import LEAST_KEEP
from penstock.qos.shedding.portions import portions, thinnest, together
from penstock.runtime.quality.run_lengths import AT_FIRST, KNOWN_RUNS, LatencyShare, shares
from penstock.runtime.quality.statistics import Statistics
from penstock.runtime.sources.source_reader import SourceReader
from penstock.runtime.topology.topology import Topology
from penstock.runtime.work.live_query import LiveQuery
from penstock.runtime.work.live_unit import READER, LiveUnit
from penstock.runtime.work.promise import Promise

PATIENT = LatencyShare(PATIENT_SECONDS / ROUNDS, PATIENT_SECONDS)
STEPS = 100  # of a keep rate, always up: a step down would drop more than a query allows
ALMOST = 1e-9  # of a step, by which a sum of fractions may be off
LATELY_SECONDS = 3.0
REMEMBERED = 4_096  # trains before gates behind other gates


@dataclass(frozen=True, slots=True)
class Asker:
    """Of the queries behind a gate with the same windows, the one that can do without least.

    Gates side by side, as before a join, have equal parts in what may go: `ways` are how many.
    """

    promise: Promise
    windows: TempoWindows | None  # None: it shows tuples
    source_reader: SourceReader
    ways: int = 1

    @property
    def kind(self) -> tuple[TempoWindows | None, float, int]:
        """Return the grouping key: gates with equal keys are decided together."""
        return self.windows, self.promise.contract.max_error, self.ways

    def most(self) -> float:
        """Return the share that can go, for all it cares, as the stream goes on now."""
        most = self.promise.limit(aggregates=self.windows is not None).most
        return 1 - float((1 - most) ** (1 / self.ways))

    def least(self, trains: Sequence[Train]) -> list[float]:
        """Return the share of each train that has to be kept for it, by all gates in a row."""
        if self.windows is None or not self.source_reader.tempo.counted:
            return [1 - self.most()] * len(trains)
        curve = self.source_reader.tempo.curve()
        found = (self._least(curve, self.windows, train) for train in trains)
        return [float(each ** (1 / self.ways)) for each in found]

    def _least(self, curve: Curve, windows: TempoWindows, train: Train) -> float:
        first, last = train.info.first, train.info.last
        if first is None or last is None:
            return 1.0
        return 1 - self.promise.limit_at(thinnest(curve, windows, first, last)).most


@dataclass(slots=True)
class SheddingController:
    """`askers` are those that gates must not fail, and `shares` what units have of the time.

    `lately` is what gates kept when they last dropped something, and when that was; `thinned` what
    gates below a gate have left of the trains that wait before it.
    """

    topology: Topology
    statistics: Statistics
    askers: dict[str, list[Asker]] = field(default_factory=dict)
    shares: dict[str, LatencyShare] = field(default_factory=dict)
    lately: dict[str, tuple[float, float]] = field(default_factory=dict)
    thinned: dict[tuple[str, int, float], float] = field(default_factory=dict)

    def look(self, gates: Iterable[LiveUnit]) -> None:
        """See who is behind each gate, from time to time."""
        self.shares = shares(self.topology)
        self.askers = {gate.unit.key: self._askers(gate) for gate in gates}
        self.lately = {name: each for name, each in self.lately.items() if name in self.askers}

    def taken(self, gate: LiveUnit, trains: Sequence[Train], now: float) -> list[Train]:
        """Return the trains that the gate's next run takes."""
        rows, room = [train.rows.count for train in trains], self._room(gate, trains, now)
        if sum(rows) <= room:
            return list(trains)
        return list(trains[: together(rows, self._least(gate, trains), room)])

    def keeps(self, gate: LiveUnit, trains: Sequence[Train], now: float) -> tuple[float, ...]:
        """Return the share that the gate keeps of each of the trains."""
        keep = gate_state(gate.state).keep
        if gate.unit.key not in self.askers:
            return (keep,) * len(trains)
        rows, room = [train.rows.count for train in trains], self._room(gate, trains, now)
        if keep == 1 and sum(rows) <= room:
            return (1.0,) * len(trains)
        found = portions(rows, self._least(gate, trains), keep, room)
        keeps = tuple(stepped(each) for each in found)
        if any(each < 1 for each in keeps):
            kept = sum(many * keep for many, keep in zip(rows, keeps, strict=True))
            self.lately[gate.unit.key] = kept / max(1, sum(rows)), now
        return keeps

    def allowed(self, gate: LiveUnit) -> float:
        """Return the share that all queries behind a gate can do without as the stream goes on."""
        return min((each.most() for each in self.askers.get(gate.unit.key, ())), default=1.0)

    def share(self, gate: LiveUnit, now: float) -> float:
        """Return what a gate keeps these days: what is decided, or what little it kept of late."""
        kept, at = self.lately.get(gate.unit.key, (1.0, -math.inf))
        keep = gate_state(gate.state).keep
        return min(keep, kept) if now - at < LATELY_SECONDS else keep

    def _least(self, gate: LiveUnit, trains: Sequence[Train]) -> list[float]:
        askers = self.askers.get(gate.unit.key, ())
        if not askers:
            return [1.0] * len(trains)
        needed = [max(each) for each in zip(*(a.least(trains) for a in askers), strict=True)]
        before = [self._before(gate, train) for train in trains]
        return [min(1.0, least / kept) for least, kept in zip(needed, before, strict=True)]

    def _before(self, gate: LiveUnit, train: Train) -> float:
        """Return the least share that gates below this one have kept of tuples of a train."""
        root = gate.unit.root
        if not isinstance(root, Gate) or not root.thinned:
            return 1.0
        name = gate.unit.key, train.info.number, train.info.arrived
        if name not in self.thinned:
            if len(self.thinned) >= REMEMBERED:
                self.thinned.clear()
            self.thinned[name] = least_kept(train.rows.to_table(root.input.schema))
        return self.thinned[name]

    def _room(self, gate: LiveUnit, trains: Sequence[Train], now: float) -> float:
        """Return how many tuples those behind a gate can do soon enough for the oldest."""
        age = max(0.0, now - min((train.info.arrived for train in trains), default=now))
        buffer = self.topology.buffers.get(gate.unit.key)
        readers = buffer.readers() if buffer is not None else ()
        rooms = [self._rows(each.removeprefix(READER), age) for each in readers]
        return max(AT_FIRST, min(rooms, default=math.inf))

    def _rows(self, unit: str, age: float) -> float:
        """Return how many tuples a unit's run may have: what is old already has less time."""
        record, sizes = self.statistics.records.get(unit), self.statistics.sizes.get(unit)
        if record is None or sizes is None or record.ever < KNOWN_RUNS:
            return math.inf
        share = self.shares.get(unit, PATIENT)
        left = IN_TIME * share.age - age
        return sizes.rows(max(share.seconds / 2, min(share.seconds, left)))

    def _askers(self, gate: LiveUnit) -> list[Asker]:
        """Return, for all queries behind a gate, the one that is hardest to please, by kind."""
        found: dict[tuple[TempoWindows | None, float, int], Asker] = {}
        for query in self.topology.queries.values():
            asker = self._asker(query, gate.unit.key)
            if asker is not None:
                best = found.get(asker.kind)
                if best is None or _is_stricter(asker.promise, best.promise):
                    found[asker.kind] = asker
        return list(found.values())

    def _asker(self, query: LiveQuery, gate: str) -> Asker | None:
        if gate not in query.nodes:
            return None
        if (source_reader := source_reader_of(self.topology, query)) is None:
            return None
        promise = query.promise or Promise(Contract.of(query.definition.goals))  # of all, then
        windows = None if query.shows_tuples else windows_of(query)
        return Asker(promise, windows, source_reader, max(1, len(gates_above(query.root))))


def source_reader_of(topology: Topology, query: LiveQuery) -> SourceReader | None:
    """Return the stream that a query reads; of several the first stands for all."""
    scans = (name for name, node in query.nodes.items() if isinstance(node, Scan))
    return next(
        (
            source_reader
            for each in scans
            if (source_reader := topology.source_readers.get(each)) is not None
        ),
        None,
    )


def stepped(keep: float) -> float:
    """Return a keep rate as gates have it: in hundredths, and never below a trickle."""
    return max(LEAST_KEEP, math.ceil(keep * STEPS - ALMOST) / STEPS)


def windows_of(query: LiveQuery) -> TempoWindows:
    """Return a query's windows."""
    found = (node.assigner for node in query.nodes.values() if isinstance(node, WindowAggregate))
    assigner = next(found, None)
    if assigner is None:
        return TempoWindows()
    span = assigner.end - assigner.begin
    return TempoWindows(assigner.begin, span, assigner.lower if assigner.is_steady else span)


def limit_of(query: LiveQuery) -> Limit:
    """Return what a query may give up of its tuples as the stream goes on now."""
    if query.promise is None:
        return Limit(0.0, query.definition.goals.weight)
    return query.promise.limit(aggregates=not query.shows_tuples)


def _is_stricter(one: Promise, other: Promise) -> bool:
    return one.told_by_a_tuple < other.told_by_a_tuple
