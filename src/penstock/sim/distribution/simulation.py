"""A cluster on a virtual clock: tuples as amounts, in steps of a second.

Receiving, connections, requests and garbage take their part of a processor's CPU first. Its
operators have the rest in turns, in each of which one does all that waits for it (DCAPE-08): where
that is more than fits into a step, all do the same part of it. What they make is there for their
readers in the next step. A join keeps what is in its window: each step the states lose the share of
the window that has passed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from penstock.place import (
    Move,
    Network,
    NetworkUnit,
    Placement,
    Processor,
    Redistribution,
    Statistics,
    UnitFigures,
    moves_between,
)
from penstock.place.costs.observed import Observed
from penstock.place.placement import connections_of
from penstock.sim.distribution.control_traffic import ControlTraffic
from penstock.sim.distribution.operator_plan import OperatorPlan, PlanOperator
from penstock.sim.distribution.processor_costs import ProcessorCosts

STEP = 1.0  # seconds
REPORT_SECONDS = 10.0
MESSAGES_OF_A_MOVE = 5  # of the relocation protocol; a save at either end is the state's carriage
MOST_GARBAGE = 0.9  # of a CPU: what is nearly full does nearly nothing
TINY = 1e-9
USUAL = ProcessorCosts()

Forced = Callable[[float, Placement], tuple[Move, ...]]


@dataclass(frozen=True, slots=True)
class Setting:
    """A plan on some processors, and who decides about it."""

    plan: OperatorPlan
    window: float
    placement: Placement
    processors: Sequence[Processor]
    costs: ProcessorCosts = USUAL
    redistribution: Redistribution | None = None
    forced: Forced | None = None
    requests: float = 0.0  # of a coordinator to each processor, a second
    replicas: int = 1  # of sources and readers of results: connections, and tuples


@dataclass(slots=True)
class ClusterOutcome:
    """What came out, by the second; where the CPU went; what happened."""

    delivered: list[float] = field(default_factory=list)
    kept: list[float] = field(default_factory=list)  # tuples on the fullest processor
    moves: int = 0
    decisions: int = 0
    died_at: float | None = None
    engine_seconds: dict[str, float] = field(default_factory=dict)
    handling_seconds: dict[str, float] = field(default_factory=dict)
    bytes_between: float = 0.0
    sent: list[int] = field(default_factory=list)  # bytes of the coordinator, by the second
    received: list[int] = field(default_factory=list)

    @property
    def throughput(self) -> float:
        """Return the tuples that came out."""
        return self.delivered[-1] if self.delivered else 0.0

    def between(self, start: float, end: float) -> float:
        """Return what came out in a part of the time, by shares of the whole."""
        last = len(self.delivered) - 1
        return self.delivered[round(end * last)] - self.delivered[round(start * last)]


def network_of(plan: OperatorPlan, window: float, costs: ProcessorCosts) -> Network:
    """Return a plan as placing sees it, with what it needs if it keeps up."""
    rates = plan.rates(costs.stream_rate, costs.join_selectivity)
    units = [
        NetworkUnit(
            each.name,
            each.inputs,
            costs.load(plan, each, window),
            rates[each.name] * costs.tuple_bytes,
            sum(rates[name] for name in each.inputs) * window * costs.tuple_bytes
            if each.is_join
            else 0.0,
        )
        for each in plan.operators
    ]
    return Network.of(units, {name: rates[name] * costs.tuple_bytes for name in plan.streams})


def simulate_cluster(setting: Setting, seconds: float) -> ClusterOutcome:
    """Return what a setting comes to; nothing comes out any more once a memory is full."""
    cluster, steps = _Cluster(setting), max(1, round(seconds / STEP))
    outcome = cluster.outcome
    for step in range(1, steps + 1):
        cluster.step(step * STEP)
        if outcome.died_at is not None:
            break
    outcome.delivered += [outcome.throughput] * (steps - len(outcome.delivered))
    return outcome


@dataclass(slots=True)
class _Unit:
    """An operator at work: what waits at its inputs, what its states hold, what it did."""

    operator: PlanOperator
    waiting: list[float]
    states: list[float]
    arriving: list[float]
    came: list[float]  # since the last report, as what follows
    busy: float = 0.0
    made: float = 0.0
    paused_until: float = 0.0
    sending: float = 0.0  # seconds of a tuple that comes in
    need: float = 0.0  # seconds for all that waits

    @property
    def kept(self) -> float:
        return sum(self.waiting) + sum(self.states)


def _unit_of(operator: PlanOperator) -> _Unit:
    none = [0.0] * len(operator.inputs)
    return _Unit(operator, none, none[:], none[:], none[:])


class _Cluster:
    def __init__(self, setting: Setting) -> None:
        self.outcome = ClusterOutcome()
        self._setting, self._costs = setting, setting.costs
        self._placement = dict(setting.placement)
        self._redistribution = setting.redistribution
        self._network = network_of(setting.plan, setting.window, setting.costs)
        self._readers = self._network.readers()
        self._units = {each.name: _unit_of(each) for each in setting.plan.operators}
        self._names = [each.name for each in setting.processors]
        self._requests = dict.fromkeys(self._names, 0.0)
        for name in self._names:
            self.outcome.engine_seconds[name] = self.outcome.handling_seconds[name] = 0.0
        self._traffic = ControlTraffic()
        for name, processor in self._placement.items():
            self._traffic.adopt(name, processor)
        self._connect()

    def step(self, now: float) -> None:
        """Let a step go by."""
        delivered = self.outcome.throughput
        received = self._take_in()
        for processor in self._setting.processors:
            delivered += self._work(processor, received[processor.name], now)
        self.outcome.delivered.append(delivered)
        self._watch_memory(now)
        if self._setting.forced is not None:
            self._move(self._setting.forced(now, self._placement), now)
        if now % REPORT_SECONDS < STEP:
            self._report(now)
        said, heard = self._traffic.flush()
        self.outcome.sent.append(said)
        self.outcome.received.append(heard)

    def _connect(self) -> None:
        """Count the connections of each processor: outputs, streams, and who gets results."""
        found = dict.fromkeys(self._names, 0)
        for each in connections_of(self._placement, self._network):
            for end in (each.source, each.target):
                if end is not None:
                    found[end] += 1
        for root in self._setting.plan.roots:
            found[self._placement[root]] += 1
        self._connections = {name: many * self._setting.replicas for name, many in found.items()}
        self._here: dict[str, list[_Unit]] = {name: [] for name in self._names}
        for name, unit in self._units.items():
            self._here[self._placement[name]].append(unit)
            unit.sending = self._copies(name) * self._costs.network

    def _copies(self, name: str) -> float:
        """Return how many times a tuple that comes in is sent on: what it makes, to each target."""
        readers = self._readers[name]
        targets = {self._placement[reader] for reader in readers} - {self._placement[name]}
        return self._selectivity(self._units[name]) * (len(targets) if readers else 1)

    def _selectivity(self, unit: _Unit) -> float:
        return self._costs.join_selectivity if unit.operator.is_join else 1.0

    def _take_in(self) -> dict[str, float]:
        """Put what the last step made, and what streams bring, into queues; count what is sent."""
        rate = self._costs.stream_rate * STEP
        received = dict.fromkeys(self._names, 0.0)
        for name in self._setting.plan.streams:
            for target in {self._placement[reader] for reader in self._readers[name]}:
                received[target] += rate
        for name, unit in self._units.items():
            for place, source in enumerate(unit.operator.inputs):
                came = unit.arriving[place] if source in self._units else rate
                unit.waiting[place] += came
                unit.came[place] += came
                unit.arriving[place] = 0.0
                if source in self._units and self._placement[source] != self._placement[name]:
                    received[self._placement[name]] += came
                    self.outcome.bytes_between += came * self._costs.tuple_bytes
        return {name: many * self._setting.replicas for name, many in received.items()}

    def _work(self, processor: Processor, received: float, now: float) -> float:
        """Let a processor do what it can in a step; return the results that it gave."""
        costs, name = self._costs, processor.name
        units = self._here[name]
        fill = min(1 - TINY, sum(unit.kept for unit in units) / costs.tuples)
        garbage = min(MOST_GARBAGE, costs.collection * fill / (1 - fill))
        handling = (
            received * costs.network
            + self._connections[name] * costs.connection * STEP
            + self._setting.requests * costs.request * STEP
            + self._requests[name] * costs.request
        )
        self._requests[name] = 0.0
        budget = max(0.0, STEP * processor.capacity * (1 - garbage) - handling)
        self.outcome.handling_seconds[name] += handling
        ready = [unit for unit in units if unit.paused_until <= now]
        for unit in ready:
            unit.need = self._need(unit)
        need = sum(unit.need for unit in ready)
        part = min(1.0, budget / need) if need else 0.0
        return sum(self._run(unit, part) for unit in ready)

    def _need(self, unit: _Unit) -> float:
        """Return the seconds for what waits for a unit, with sending what follows from it."""
        found = self._costs.seconds(unit.operator, tuple(unit.states))
        return self._setting.replicas * sum(
            waiting * (seconds + unit.sending)
            for waiting, seconds in zip(unit.waiting, found, strict=True)
        )

    def _run(self, unit: _Unit, part: float) -> float:
        """Do a part of what waits for a unit, and return the results that it gave."""
        share = part * unit.need
        window, operator = self._setting.window, unit.operator
        taken = [waiting * part for waiting in unit.waiting]
        unit.waiting = [waiting - each for waiting, each in zip(unit.waiting, taken, strict=True)]
        if operator.is_join:
            stays = max(0.0, 1 - STEP / window) if window else 0.0
            unit.states = [
                state * stays + each if window else 0.0
                for state, each in zip(unit.states, taken, strict=True)
            ]
        made = sum(taken) * self._selectivity(unit)
        unit.busy += share
        unit.made += made
        self.outcome.engine_seconds[self._placement[operator.name]] += share
        for reader in self._readers[operator.name]:
            inputs = self._units[reader].operator.inputs
            self._units[reader].arriving[inputs.index(operator.name)] += made
        return 0.0 if self._readers[operator.name] else made * self._setting.replicas

    def _watch_memory(self, now: float) -> None:
        kept = dict.fromkeys(self._names, 0.0)
        for name, unit in self._units.items():
            kept[self._placement[name]] += unit.kept * self._setting.replicas
        self.outcome.kept.append(max(kept.values()))
        if max(kept.values()) >= self._costs.tuples:
            self.outcome.died_at = now

    def _report(self, now: float) -> None:
        """Report what was measured, and carry out what is decided."""
        seen = self._observed()
        for unit, figures in seen.statistics.units.items():
            self._traffic.report(unit, seen.placement[unit], figures)
        if self._redistribution is None:
            return
        self._redistribution, decision = self._redistribution.step(seen, self._names, now)
        if decision is not None:
            self.outcome.decisions += 1
            self._move(moves_between(self._placement, decision.placement), now)

    def _observed(self) -> Observed:
        """Return what was measured since the last report."""
        tuple_bytes = self._costs.tuple_bytes
        figures, units = {}, []
        for name, unit in self._units.items():
            incoming = [came / REPORT_SECONDS for came in unit.came]
            each = self._costs.seconds(unit.operator, tuple(unit.states))
            needed = sum(rate * seconds for rate, seconds in zip(incoming, each, strict=True))
            made = unit.made / REPORT_SECONDS
            state = sum(unit.states) * tuple_bytes
            figures[name] = UnitFigures(
                unit.busy / REPORT_SECONDS,
                needed,
                made,
                made * tuple_bytes,
                unit.kept * tuple_bytes,
                state,
            )
            units.append(NetworkUnit(name, unit.operator.inputs, needed, made * tuple_bytes, state))
            unit.busy = unit.made = 0.0
            unit.came = [0.0] * len(unit.came)
        network = Network.of(units, self._network.streams)
        return Observed(
            network, dict(self._placement), self._setting.processors, Statistics(figures)
        )

    def _move(self, moves: Sequence[Move], now: float) -> None:
        for move in moves:
            unit = self._units[move.unit]
            carried = sum(unit.states) * self._costs.tuple_bytes / self._costs.carried_bytes
            unit.paused_until = now + self._costs.pause_seconds + carried
            self._placement[move.unit] = move.target
            self._traffic.move(move, round(now))
            for name in (move.source, move.target):
                self._requests[name] += MESSAGES_OF_A_MOVE
        self.outcome.moves += len(moves)
        if moves:
            self._connect()


def processors_of(count: int, costs: ProcessorCosts) -> list[Processor]:
    """Return alike processors."""
    memory: Mapping[str, float] = {"memory_bytes": costs.tuples * costs.tuple_bytes}
    return [Processor(f"processor {place}", memory) for place in range(1, count + 1)]
