"""Statistics: what runs have shown of units and operators, and the observation made of it.

Only the supervisor's thread, or a thread while quiesced, touches them.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from penstock.engine.trains.buffers import Train
from penstock.plan.operators import key
from penstock.plan.sharing.units import Unit
from penstock.runtime.quality.timings import Timings
from penstock.runtime.topology.topology import Topology
from penstock.runtime.work.live_unit import LiveUnit
from penstock.schedule import Observation
from penstock.schedule.batching import Pace
from penstock.schedule.costs.apportion import OperatorShare, UnitProfile, apportioned
from penstock.schedule.costs.observation import UNMEASURED, Average, OperatorFigures, QueryFigures
from penstock.schedule.costs.record import Passed, RunRecord, kept_records
from penstock.schedule.costs.sizes import Sizes
from penstock.schedule.costs.widths import width_of

# What profiles may cost of the time at work: of a unit that has none yet, and of one that has.
FIRST_SHARE, AGAIN_SHARE, FREE_SECONDS = 0.05, 0.01, 3.0
PROFILED_AFTER = 2  # runs: the first is slower than any other
ASKED_SECONDS = 60.0  # how long figures are refreshed after somebody asked for them
SAMPLE_SECONDS, MOST_SAMPLE, LEAST_SAMPLE = 0.1, 5_000, 64
WIDTH_WEIGHT = 3.0  # a size told by columns is believed by half


@dataclass(frozen=True, slots=True)
class UnitQueue:
    """What waits for a unit: tuples, bytes, and the seconds that the oldest has waited."""

    rows: int
    size: int
    age: float


NO_QUEUE = UnitQueue(0, 0, 0.0)


@dataclass(slots=True)
class Statistics:
    """By unit what it did, by buffer what was written, by unit what a profile of it showed.

    `known` is what operators showed in units that were cut otherwise, `asked` when somebody last
    wanted to see what operators cost, `light` the units that need no Spark. `lengths` are the most
    tuples of a run, where others want the unit's slot.
    """

    records: dict[str, RunRecord] = field(default_factory=dict)
    passed: dict[str, Passed] = field(default_factory=dict)
    profiles: dict[str, UnitProfile] = field(default_factory=dict)
    known: dict[str, OperatorFigures] = field(default_factory=dict)
    busy_seconds: float = 0.0
    profiled_seconds: float = 0.0
    asked: float = -math.inf
    light: set[str] = field(default_factory=set)
    sizes: dict[str, Sizes] = field(default_factory=dict)
    last_runs: dict[str, tuple[int, float]] = field(default_factory=dict)
    lengths: Mapping[str, int] = field(default_factory=dict)
    timings: Timings = field(default_factory=Timings)
    _cuts: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def ran(
        self,
        unit: str,
        rows_in: int,
        rows_out: int,
        seconds: float,
        now: float,
        *,
        alone: bool = True,
    ) -> None:
        """Note a run; the first, for which Spark had to compile, counts only until the next.

        One that did not go `alone` does not tell what a run of that size takes.
        """
        before = self.records.get(unit, RunRecord())
        if before.ever == 1:
            before = RunRecord(ever=1)
        self.records[unit] = before.add(rows_in, rows_out, seconds, now)
        if before.ever and alone:
            self.sizes[unit] = self.sizes.get(unit, Sizes()).add(rows_in, seconds, now)
        self.last_runs[unit] = (rows_in, seconds)
        self.busy_seconds += seconds

    def spent(self, unit: str, seconds: float) -> None:
        """Note time at work for a unit that no run counts."""
        self.records[unit] = self.records.get(unit, RunRecord()).spent(seconds)
        self.busy_seconds += seconds

    def wrote(self, buffer: str, rows: int, size: int, now: float) -> None:
        """Note a train."""
        if rows:
            self.passed[buffer] = self.passed.get(buffer, Passed()).add(rows, size, now)

    def sample_size(self, unit: Unit, now: float, *, needed: bool) -> int:
        """Return how many tuples a profile of a unit should see now, 0 where none is due.

        Where no strategy needs them, only for a while after somebody has asked.
        """
        if not needed and now - self.asked > ASKED_SECONDS:
            return 0
        record = self.records.get(unit.key, RunRecord())
        share = AGAIN_SHARE if unit.key in self.profiles else FIRST_SHARE
        if self.profiled_seconds >= FREE_SECONDS + share * self.busy_seconds:
            return 0
        if unit.bundle is not None or record.ever < PROFILED_AFTER or len(unit.members()) == 1:
            return 0
        cost = record.cost.or_else(math.inf)
        return int(min(MOST_SAMPLE, max(LEAST_SAMPLE, SAMPLE_SECONDS / max(cost, 1e-9))))

    def took_profile(self, unit: Unit, found: UnitProfile | None, seconds: float) -> None:
        """Keep what a profile showed, and count what it took; one that failed only costs."""
        self.profiled_seconds += seconds
        if found is not None and found.rows:
            self.profiles.pop(unit.key, None)
            self.profiles[unit.key] = found

    def shares(self, unit: Unit, now: float) -> dict[str, OperatorShare]:
        """Return what each operator of a unit has of its tuple, where a profile tells."""
        found = self.profiles.get(unit.key)
        members = {key(each) for each in unit.members()}
        if found is None or found.inputs.keys() != members:
            return {}
        return apportioned(found, self.record(unit.key, now))

    def record(self, unit: str, now: float) -> RunRecord:
        """Return a unit's record as it weighs now."""
        return self.records.get(unit, RunRecord()).decayed(now)

    def confidence(self, unit: Unit) -> float:
        """Return how far what is known of a unit's operators may be believed."""
        record = self.records.get(unit.key, RunRecord())
        is_told = unit.bundle is not None or len(unit.members()) == 1 or unit.key in self.profiles
        return record.cost.confidence if is_told else 0.0

    def run_seconds(self, now: float) -> float:
        """Return what a run costs whatever it takes, the same for all: it is what Spark does.

        One unit's runs are often too much alike to tell it apart. It is at most what the runs of
        the cheapest unit take, and less where lines through the runs of some units say so.
        """
        records = [
            each.decayed(now)
            for name, each in self.records.items()
            if each.ever > 1 and name not in self.light
        ]
        cheapest = min((each.seconds / each.runs for each in records if each.runs > 0), default=0.0)
        telling = [each for each in records if each.run_seconds > 0]
        runs = sum(each.runs for each in telling)
        told = sum(each.run_seconds * each.runs for each in telling) / runs if runs else math.inf
        return min(cheapest, told)

    def rate(self, unit: Unit, now: float) -> Average:
        """Return the tuples a second that come in, over all of a unit's leaves."""
        rates = [self.passed.get(name, Passed()).rate(now) for name in unit.inputs]
        measured = [each for each in rates if each.weight > 0]
        if not measured:
            return UNMEASURED
        total = sum(each.or_else(0.0) for each in measured)
        return Average(total, min(each.weight for each in measured), now)

    def observation(self, topology: Topology, now: float) -> Observation:
        """Return everything that deciders see, at one moment."""
        operators: dict[str, OperatorFigures] = {}
        units: dict[str, OperatorFigures] = {}
        for live in topology.units.values():
            figures = self._unit_figures(live.unit, queue_of(topology, live, now), now)
            units[live.unit.key] = figures
            told = self._operator_figures(live.unit, figures, now)
            operators |= told if _has_costs(told, live.unit) else _undivided(live.unit, figures)
        for name, source_reader in topology.source_readers.items():
            passed = self.passed.get(name, Passed())
            size = passed.tuple_bytes
            operators[name] = OperatorFigures(
                rate=passed.rate(now),
                tuple_bytes=size if size.weight else _told(width_of(source_reader.scan.schema)),
            )
        return Observation(operators, units, self._queries(topology), self.run_seconds(now))

    def observation_of(self, live: LiveUnit, queue: UnitQueue, now: float) -> Observation:
        """Return what deciders see of one unit."""
        figures = self._unit_figures(live.unit, queue, now)
        return Observation(
            self._operator_figures(live.unit, figures, now), {live.unit.key: figures}
        )

    def pace(self, topology: Topology, now: float) -> Pace:
        """Return what the intelligent batching rule measures by.

        What is late already has no laxity: the thesis drops it, and here it runs last.
        """
        waiting = [
            train.info.deadline
            for buffer in topology.buffers.waited_for()
            for train in buffer.unread()
            if now < train.info.deadline < math.inf
        ]
        gaps = [
            passed.rows / passed.trains / rate
            for name in topology.source_readers
            if (passed := self.passed.get(name)) is not None
            and passed.trains > 0
            and (rate := passed.rate(now).or_else(0.0)) > 0
        ]
        return Pace(
            sum(waiting) / len(waiting) - now if waiting else math.inf,
            sum(gaps) / len(gaps) if gaps else math.inf,
        )

    def kept(self) -> dict[str, Any]:
        """Return what a checkpoint keeps: the records; profiles are soon made again."""
        return {"units": kept_records(self.records)}

    def bring_back(self, kept: Mapping[str, Any]) -> None:
        """Go on with what a checkpoint kept."""
        self.records = {name: RunRecord.back(each) for name, each in kept.get("units", {}).items()}

    def remember(self, topology: Topology, now: float) -> None:
        """Keep what is known of operators; call it before the graph is cut anew."""
        for live in topology.units.values():
            figures = self._unit_figures(live.unit, NO_QUEUE, now)
            told = self._operator_figures(live.unit, figures, now)
            self.known |= {name: each for name, each in told.items() if each.seconds.weight}
            self._cuts[live.unit.key] = live.unit.inputs

    def forget_all_but(self, topology: Topology) -> None:
        """Drop the figures of units that are gone or have changed."""
        buffers = {buffer.key for buffer in topology.buffers}
        nodes = topology.graph.nodes().keys() | topology.units.keys()
        same = {
            name
            for name, live in topology.units.items()
            if self._cuts.get(name, live.unit.inputs) == live.unit.inputs
        }
        self.records = {n: each for n, each in self.records.items() if n in same}
        self.light &= topology.units.keys()
        readers = {query.reader for query in topology.queries.values()}
        self.timings.forget_all_but(same | readers | topology.source_readers.keys())
        self.profiles = {n: each for n, each in self.profiles.items() if n in same}
        self.passed = {n: each for n, each in self.passed.items() if n in buffers}
        self.known = {n: each for n, each in self.known.items() if n in nodes}
        self._cuts = {}

    def _unit_figures(self, unit: Unit, queue: UnitQueue, now: float) -> OperatorFigures:
        record = self.record(unit.key, now)
        size = self.passed.get(unit.key, Passed()).tuple_bytes
        return OperatorFigures(
            record.cost,
            record.selectivity,
            self.rate(unit, now),
            size if size.weight else _told(width_of(unit.root.schema)),
            queue.rows,
            queue.size,
            run_rows=record.rows_in / record.runs if record.runs > 0 else 0.0,
        )

    def _operator_figures(
        self, unit: Unit, figures: OperatorFigures, now: float
    ) -> dict[str, OperatorFigures]:
        """Return the figures of a unit's operators; queues stand before the unit, not inside."""
        members = unit.members()
        if len(members) == 1:
            return {unit.key: figures}
        shares, weight = self.shares(unit, now), figures.seconds.weight
        rate = figures.rate.or_else(0.0)
        before = {
            name: replace(self.known[name], rate=UNMEASURED, queued_rows=0, queued_bytes=0)
            for each in members
            if (name := key(each)) not in shares and name in self.known
        }
        return before | {
            key(each): OperatorFigures(
                share.cost(weight, now),
                share.selectivity(weight, now),
                Average(share.rows_in * rate, figures.rate.weight, now)
                if figures.rate.weight
                else UNMEASURED,
                figures.tuple_bytes if key(each) == unit.key else _told(width_of(each.schema)),
            )
            for each in members
            if (share := shares.get(key(each))) is not None
        }

    def _queries(self, topology: Topology) -> dict[str, QueryFigures]:
        found = {
            name: QueryFigures(query.definition.goals.weight, query.definition.goals.priority)
            for name, query in topology.queries.items()
        }
        by_root: dict[str, list[QueryFigures]] = {}
        for name, query in topology.queries.items():
            by_root.setdefault(query.input, []).append(found[name])
        for live in topology.units.values():
            if live.unit.bundle is not None:
                goals = [g for root in live.unit.roots for g in by_root.get(key(root), ())]
                found[f"bundle {live.unit.key}"] = QueryFigures(
                    sum(each.weight for each in goals) or 1.0,
                    max((each.priority for each in goals), default=QueryFigures().priority),
                )
        return found


def queue_of(topology: Topology, live: LiveUnit, now: float) -> UnitQueue:
    """Return what waits for a unit."""
    trains: list[Train] = []
    for name in live.unit.inputs:
        if (buffer := topology.buffers.get(name)) is not None:
            trains += buffer.waiting(live.reader)
    return UnitQueue(
        sum(train.rows.count for train in trains),
        sum(train.info.size for train in trains),
        max((now - train.info.arrived for train in trains if train.rows.count), default=0.0),
    )


def _has_costs(told: Mapping[str, OperatorFigures], unit: Unit) -> bool:
    """Say whether the cost of every operator of a unit is known."""
    costs = (
        told[name].seconds if name in told else UNMEASURED for name in map(key, unit.members())
    )
    return all(each.weight > 0 for each in costs)


def _undivided(unit: Unit, figures: OperatorFigures) -> dict[str, OperatorFigures]:
    """Return figures for the operators of a unit that no trial has told apart.

    The first has all of the unit's cost, the last its selectivity: over the unit it is the same.
    """
    names = [key(each) for each in unit.members()]
    nothing = OperatorFigures.declared(0.0)
    found = {
        name: replace(nothing, tuple_bytes=_told(width_of(each.schema)))
        for name, each in zip(names, unit.members(), strict=True)
    }
    found[names[-1]] = replace(
        nothing, selectivity=figures.selectivity, tuple_bytes=figures.tuple_bytes
    )
    found[names[0]] = replace(found[names[0]], seconds=figures.seconds, rate=figures.rate)
    return found


def _told(size: float) -> Average:
    return Average(size, WIDTH_WEIGHT)
