"""Trigger batches: asks rules about the trains of their events, and lets them act.

    event's buffer --ask--> firings --act--> streams, queries, functions, the world

What a trigger batch takes is recorded before, as with every run, and what it fires is put down with
its number: so a replay fires nothing twice. Immediate rules act before the queries on the same
trains deliver them, deferred rules after; detached ones whenever they can, each action in a lane of
its own that holds nothing else up.
"""

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

from penstock.clock import Clock
from penstock.engine.spark.jobs.processor import Processor
from penstock.engine.trains.buffers import Train
from penstock.model.definitions import QueryState
from penstock.model.rules import Coupling, OutsideAction
from penstock.runtime.durable.journal import Journal
from penstock.runtime.durable.pending_action import CONDITION, Fired
from penstock.runtime.durable.pending_actions import PendingActions
from penstock.runtime.loop.actions import Acting, Lane
from penstock.runtime.loop.conditions import ConditionAnswer, ask, unasked
from penstock.runtime.topology.topology import Topology
from penstock.runtime.work.live_rule import LiveRule, LiveTriggers
from penstock.runtime.work.run_limits import RUN_LIMITS, RunLimits
from penstock.runtime.work.train_groups import coalesced, ranges_of, recorded
from penstock.runtime.work.worker_pool import SINK, Workers

SLICE_SECONDS = 1.0  # that a worker stays in one lane before others have their turn
RESTLESS_SECONDS = 0.05  # between two looks while an action of a held train waits for its turn

NOTHING = ConditionAnswer({}, {})  # of nobody who was asked


@dataclass(slots=True)
class ActionLanes:
    """Where actions wait: `due` are the lanes of detached rules, and when each is due."""

    topology: Topology
    pending_actions: PendingActions
    due: dict[Lane, float] = field(default_factory=dict)

    def look(self) -> None:
        """Find out which lanes have work; a trigger batch that comes again does its own."""
        apart = {
            rule.key
            for each in self.topology.trigger_batches.values()
            for rule in each.rules.values()
            if each.coupling is Coupling.DETACHED or not (each.replay or each.asked)
        }
        waiting = self.pending_actions.lanes()
        self.due = {lane: due for lane, due in waiting.items() if lane[0] in apart}


@dataclass(slots=True)
class TriggerBatches:
    """Rules of one coupling on one event are asked once at a time, and a lane has one worker."""

    topology: Topology
    pool: Workers
    journal: Journal
    clock: Clock
    processor: Processor
    acting: Acting
    lanes: ActionLanes
    limits: RunLimits = RUN_LIMITS
    stopping: bool = False

    @property
    def is_idle(self) -> bool:
        """Say whether nothing waits to be acted on."""
        trigger_batches = list(self.topology.trigger_batches.values())  # another thread may look
        return not self.lanes.due and not any(each.asked for each in trigger_batches)

    @property
    def is_at_work(self) -> bool:
        """Say whether rules are asked, have trains to be asked about, or something to do."""
        if not self.is_idle:
            return True
        trigger_batches = list(self.topology.trigger_batches.values())
        return any(self._is_busy(each) or self._is_behind(each) for each in trigger_batches)

    def _is_behind(self, each: LiveTriggers) -> bool:
        buffer = self.topology.buffers.get(each.input)
        return buffer is not None and bool(buffer.waiting(each.reader))

    def start(self, now: float) -> None:
        """Start to ask and to act, wherever something waits."""
        for each in list(self.topology.trigger_batches.values()):
            if self._is_busy(each):
                continue
            if each.asked:
                self._start_acting(each, each.asked)
            elif trains := self._next(each):
                self._start_asking(each, trains)
        for lane, due in list(self.lanes.due.items()):
            if due <= now and not self.pool.is_busy(_worker(lane)):
                self._start_lane(lane)

    def _is_busy(self, each: LiveTriggers) -> bool:
        """Say whether rules are asked, or act, or old firings of theirs are tried again."""
        if self.pool.is_busy(each.reader) or self.pool.is_busy(SINK + each.reader):
            return True
        if each.coupling is Coupling.DETACHED or not self.lanes.due:  # many look here, and often
            return False
        lanes = (lane for rule in each.rules.values() for lane in _lanes(rule))
        return any(self.pool.is_busy(_worker(lane)) for lane in lanes)

    # -- asking --------------------------------------------------------------------------

    def _next(self, each: LiveTriggers) -> list[Train]:
        buffer = self.topology.buffers.get(each.input)
        waiting = buffer.waiting(each.reader) if buffer is not None else []
        if each.replay:
            found = recorded({each.input: waiting}, each.replay[0].inputs)
            return (found or {}).get(each.input, [])
        if waiting and each.coupling is Coupling.DEFERRED:
            last = self._delivered(each)
            waiting = [train for train in waiting if train.info.number <= last]
        return each.begins(coalesced(waiting, self.limits.rule_rows, self.limits.rule_bytes))

    def _delivered(self, each: LiveTriggers) -> float:
        """Return the last train of an event that all readers before deferred rules have had."""
        buffer = self.topology.buffers.get(each.input)
        places = buffer.readers() if buffer is not None else {}
        before = [
            places.get(query.reader, 0)
            for query in self.topology.queries.values()
            if query.input == each.input and query.state is QueryState.RUNNING
        ]
        gate = self.topology.gate(each.input)
        return min([*before, *([gate] if gate is not None else [])], default=float("inf"))

    def _start_asking(self, each: LiveTriggers, trains: list[Train]) -> None:
        if each.replay:
            each.replay.popleft()
        elif not any(train.rows.count for train in trains):
            self._pass(each, trains)
            return
        else:
            ranges = ranges_of({each.input: trains})
            self.journal.record_run(each.reader, each.runs + 1, ranges)
        number, last = each.runs + 1, trains[-1].info.number
        rules = [r for r in each.in_order() if r.enabled and not r.cause and r.since < last]
        rows = [train.rows for train in trains if train.rows.count]

        def work() -> ConditionAnswer:
            asked = self._undecided(each, number, rules)
            held = self.acting.doors.held
            answer = ask(self.processor, each.reader, asked, rows, held) if asked else NOTHING
            depth = max((train.info.depth for train in trains), default=0)
            self._put(each, number, rules, answer, depth)
            return answer

        def settle(future: Future[object]) -> None:
            answer = future.result()
            assert isinstance(answer, ConditionAnswer)  # noqa: S101  (what the work returns)
            self._hold(rules, answer, trains)
            if each.coupling is Coupling.DETACHED:
                self._finished(each, trains)
                fired = [rule for rule in rules if rule.key in answer.rows]
                self.lanes.due |= {lane: 0.0 for rule in fired for lane in _lanes(rule)}
            else:
                each.asked = trains

        self.pool.submit(each.reader, work, settle)

    def _undecided(
        self, each: LiveTriggers, number: int, rules: Sequence[LiveRule]
    ) -> Sequence[LiveRule]:
        """Return the rules to ask.

        What a stream held at a trigger batch is gone when that comes again: a rule that asked it
        has decided, and is not asked again.
        """
        if number > self.acting.pending_actions.place(each.reader):
            return rules
        return [rule for rule in rules if not rule.bound.held]

    def _put(
        self,
        each: LiveTriggers,
        number: int,
        rules: Sequence[LiveRule],
        answer: ConditionAnswer,
        depth: int,
    ) -> None:
        """Keep what was fired; the rules that act first come first."""
        fired = [
            Fired(
                rule.key, action, rows, depth, self._room(rule, action, rows.num_rows), not action
            )
            for rule in rules
            if (rows := answer.rows.get(rule.key)) is not None and rows.num_rows
            for action in range(len(rule.definition.actions))
        ]
        fired += unasked(rules, answer, depth)
        once = any(rule.bound.held for rule in rules)
        self.acting.pending_actions.put(each.reader, number, fired, self.clock.now(), once=once)

    def _room(self, rule: LiveRule, action: int, count: int) -> int:
        """Return how many more tuples may wait for an action that is not done at once."""
        room = rule.definition.limits.queue - self.acting.pending_actions.waiting(rule.key, action)
        outside = isinstance(rule.definition.actions[action], OutsideAction)
        return room if outside or room <= 0 else max(room, count)

    def _hold(
        self, rules: Sequence[LiveRule], answer: ConditionAnswer, trains: Sequence[Train]
    ) -> None:
        """Hold the rules that could not be asked: they may have had to fire."""
        for rule in rules:
            if cause := answer.failures.get(rule.key):
                first, last = trains[0].info.number, trains[-1].info.number
                rule.cause = f"{cause}\n(trains {first} to {last} of its event)"
                self.topology.note_state(rule.name, QueryState.FAILED, rule.cause)

    # -- acting --------------------------------------------------------------------------

    def _start_acting(self, each: LiveTriggers, trains: list[Train]) -> None:
        """Run the rules of one trigger batch, one after the other, before anything else."""
        rules = each.in_order()

        def work() -> bool:
            return all(self._act(rule, action) for rule in rules for _, action in _lanes(rule))

        def settle(future: Future[object]) -> None:
            if future.result():
                each.asked = None
                self._finished(each, trains)

        self.pool.submit(SINK + each.reader, work, settle)

    def _act(self, rule: LiveRule, action: int) -> bool:
        """Do all that waits in a lane; False where everything ends before that."""
        while (due := self.acting.step(rule, action)) is not None:
            if self.stopping:
                return False
            if due:
                self.clock.sleep(min(RESTLESS_SECONDS, max(0.0, due - self.clock.now())))
        return True

    def _start_lane(self, lane: Lane) -> None:
        """Submit what is due for one action of a detached rule."""
        found, action = self._rule(lane[0]), lane[1]
        if found is None:
            del self.lanes.due[lane]
            return
        each, rule = found
        if self.pool.is_busy(SINK + each.reader):
            return
        until = self.clock.now() + SLICE_SECONDS

        def work() -> float | None:
            due = self.acting.step(rule, action)
            while due == 0.0 and not self.stopping and self.clock.now() < until:
                due = self.acting.step(rule, action)
            return due

        def settle(future: Future[object]) -> None:
            due = future.result()
            if isinstance(due, float):
                self.lanes.due[lane] = due
            elif self.acting.pending_actions.next(*lane) is None:  # nothing came meanwhile
                self.lanes.due.pop(lane, None)
            if action == CONDITION:
                self.lanes.due |= dict.fromkeys(_lanes(rule), 0.0)

        self.pool.submit(_worker(lane), work, settle)

    def _rule(self, name: str) -> tuple[LiveTriggers, LiveRule] | None:
        for each in self.topology.trigger_batches.values():
            rule = each.rules.get(name.rpartition(".")[0])
            if rule is not None and rule.key == name:
                return each, rule
        return None

    def _finished(self, each: LiveTriggers, trains: Sequence[Train]) -> None:
        each.runs += 1
        self._pass(each, trains)

    def _pass(self, each: LiveTriggers, trains: Sequence[Train]) -> None:
        buffer = self.topology.buffers.get(each.input)
        if buffer is not None and self.topology.trigger_batches.get(each.reader) is each:
            buffer.advance(each.reader, trains[-1].info.number)


def _lanes(rule: LiveRule) -> list[Lane]:
    return [(rule.key, action) for action in range(len(rule.definition.actions))]


def _worker(lane: Lane) -> str:
    return f"{SINK}rule:{lane[0]}:{lane[1]}"
