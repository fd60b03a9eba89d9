"""Acting: does what rules have fired, one action of one rule at a time, within its limits.

INSERT, RAISE, START, STOP and ALTER have their effect once: what was done is noted with it, or can
be told from what is there. What reaches outside is done at least once, with a key that stays the
same.
"""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

import pyarrow as pa

from penstock.clock import Clock
from penstock.engine import actions
from penstock.engine.actions.action import TriggerBatch
from penstock.engine.actions.call import Callables
from penstock.engine.allowed import Allowed
from penstock.engine.interfaces.pushed.push import Push
from penstock.engine.spark.application.spark_life import refuse_dead
from penstock.engine.spark.spark_errors import is_data_error
from penstock.engine.table_files import add_rows
from penstock.engine.trains.rows import Rows
from penstock.errors import ActionError, describe
from penstock.events.cascades import DEEPEST
from penstock.events.rates import Bucket, full, ready_at, take
from penstock.events.retries import next_try
from penstock.model.definitions import TableDefinition
from penstock.model.rules import Alter, CallAction, Coupling, Insert, OutsideAction, Steer
from penstock.runtime.durable.home import file_name
from penstock.runtime.durable.pending_action import CONDITION, Fired, PendingAction
from penstock.runtime.durable.pending_actions import PendingActions
from penstock.runtime.loop.conditions import ConditionAnswer, unasked
from penstock.runtime.work.live_rule import LiveRule
from penstock.runtime.work.poison import separated

Made = Callable[[LiveRule, int, pa.Table], pa.Table | None]
Ask = Callable[[LiveRule, pa.Table], ConditionAnswer]
Lane = tuple[str, int]  # a rule's key, and which of its actions


@dataclass(frozen=True, slots=True)
class Doors:
    """What rules act on: streams (their key and source), tables, queries, rules, functions.

    `held` tells conditions what a stream, a query or an event holds.
    """

    stream: Callable[[str], tuple[str, Push]]
    table: Callable[[str], TableDefinition | None]
    steer: Callable[[Steer | Alter], None]
    allowed: Callable[[], Allowed]
    calls: Callables
    held: Callable[[str, ExitStack], list[Rows]]


@dataclass(slots=True)
class Acting:
    """A lane is worked on by one thread at a time."""

    pending_actions: PendingActions
    clock: Clock
    made: Made
    doors: Doors
    ask: Ask
    _buckets: dict[str, Bucket] = field(default_factory=dict)
    _slowed: dict[Lane, int] = field(default_factory=dict)

    def step(self, rule: LiveRule, action: int) -> float | None:
        """Do the next piece of what waits in a lane; return when the one after it is due.

        0 is at once, None is never: nothing waits.
        """
        pending_action = self.pending_actions.next(rule.key, action)
        if pending_action is None:
            return None
        now = self.clock.now()
        if pending_action.due > now:
            return pending_action.due
        left = pending_action.count - pending_action.done
        if action == CONDITION:
            self._ask(rule, pending_action, left, now)
            return 0.0
        wanted = left if rule.takes_all(action) else 1
        granted, again = self._granted(rule, pending_action, wanted, left, now)
        if granted:
            self._try(rule, pending_action, granted, now)
        return again

    def _granted(
        self, rule: LiveRule, pending_action: PendingAction, wanted: int, left: int, now: float
    ) -> tuple[int, float]:
        """Return how many tuples may be acted on now, and when to look again."""
        rate = rule.definition.limits.rate
        if rate is None:
            return wanted, 0.0
        bucket = self._buckets.get(rule.key) or full(rate, now)
        granted, bucket = take(bucket, rate, wanted, now)
        self._buckets[rule.key] = bucket
        if granted:
            return granted, 0.0
        if rule.definition.coupling is Coupling.DETACHED:
            if self._slowed.get((rule.key, pending_action.action)) != pending_action.id:
                self._slowed[rule.key, pending_action.action] = pending_action.id
                self.pending_actions.held_back(rule.key, left)
            return 0, ready_at(bucket, rate)
        cause = f"more than {rate:g} a second"  # a train waits for no clock
        self._bury(rule, pending_action, left, cause, counter="held_back")
        return 0, 0.0

    def _try(self, rule: LiveRule, pending_action: PendingAction, count: int, now: float) -> None:
        rows = pending_action.rows.slice(0, count)
        deep = isinstance(rule.definition.actions[pending_action.action], Insert)
        if deep and pending_action.depth >= DEEPEST:
            cause = f"{DEEPEST} rules have set each other off: this is a loop"
            self._bury(rule, pending_action, count, cause, counter="held_back")
            return
        try:
            self._perform(rule, pending_action, rows)
        except Exception as error:  # whatever an action raises is its own failure
            if deep and is_data_error(error):
                self._insert_apart(rule, pending_action, rows, now)
            else:
                self._fell(rule, pending_action, count, error, now)
        else:
            self.pending_actions.did(pending_action, count)

    def _fell(
        self,
        rule: LiveRule,
        pending_action: PendingAction,
        count: int,
        error: Exception,
        now: float,
    ) -> None:
        """Note that a try failed: there is another one later, or there are dead letters."""
        refuse_dead(error)  # that Spark has died is no failure of an action
        cause = describe(error)
        due = next_try(rule.definition.limits, pending_action.tries + 1, now)
        if due is None:
            self._bury(rule, pending_action, count, cause)
        else:
            self.pending_actions.failed(pending_action, cause, due)

    def _insert_apart(
        self, rule: LiveRule, pending_action: PendingAction, rows: pa.Table, now: float
    ) -> None:
        """Insert what can be made; the tuples that the SELECT fails on are dead letters at once.

        It would fail on them each time. Each part is noted before the next, as always from the
        first tuple on, so that a crash between two repeats none.
        """
        action, left = pending_action.action, rows.num_rows
        try:
            for part in separated(rows, lambda piece: self._made(rule, action, piece)):
                count = part.rows.num_rows
                if part.made is None:
                    self._bury(rule, pending_action, count, part.cause)
                else:
                    self._add(rule, pending_action, part.made)
                    self.pending_actions.did(pending_action, count)
                pending_action, left = (
                    replace(pending_action, done=pending_action.done + count, tries=0),
                    left - count,
                )
        except Exception as error:  # what is left of it can be tried again
            self._fell(rule, pending_action, left, error, now)

    def _ask(self, rule: LiveRule, pending_action: PendingAction, count: int, now: float) -> None:
        """Ask a rule's condition again about dead letters, and keep what it fires."""
        answer = self.ask(rule, pending_action.rows.slice(0, count))
        if cause := answer.failures.get(rule.key):
            self._bury(rule, pending_action, count, cause)
            return
        fires = answer.rows.get(rule.key)
        actions = range(len(rule.definition.actions)) if fires is not None and len(fires) else ()
        fired = [
            Fired(rule.key, action, fires, pending_action.depth, fires.num_rows, not action)
            for action in actions
            if fires is not None
        ]
        fired += unasked([rule], answer, pending_action.depth)
        self.pending_actions.asked(pending_action, fired, count, now)

    def _bury(
        self,
        rule: LiveRule,
        pending_action: PendingAction,
        count: int,
        cause: str,
        counter: str = "failures",
    ) -> None:
        most = rule.definition.limits.dead
        self.pending_actions.bury(pending_action, count, cause, most=most, counter=counter)

    def _perform(self, rule: LiveRule, pending_action: PendingAction, rows: pa.Table) -> None:
        match rule.definition.actions[pending_action.action]:
            case Insert():
                self._add(rule, pending_action, self._made(rule, pending_action.action, rows))
            case Steer() | Alter() as steer:
                self.doors.steer(steer)
            case CallAction(name):
                trigger_batch = self._trigger_batch(rule, pending_action, rows)
                self.doors.calls.perform(name, trigger_batch, _seconds(rule))
            case OutsideAction(connector):
                trigger_batch = self._trigger_batch(rule, pending_action, rows)
                actions.build(connector).perform(trigger_batch, _seconds(rule))

    def _made(self, rule: LiveRule, action: int, rows: pa.Table) -> pa.Table:
        table = self.made(rule, action, rows)
        if table is None or table.num_rows != rows.num_rows:
            raise ActionError(f"rule {rule.name} made no rows")
        return table

    def _add(self, rule: LiveRule, pending_action: PendingAction, table: pa.Table) -> None:
        """Add rows to the stream or table of an INSERT."""
        action = rule.definition.actions[pending_action.action]
        target = action.target if isinstance(action, Insert) else ""
        if (kept := self.doors.table(target)) is not None:
            add_rows(kept, table, file_name(pending_action.key))  # done again, it is the same file
            return
        stream, source = self.doors.stream(target)

        def intend(position: int) -> None:
            self.pending_actions.intend(pending_action, stream, position, table.num_rows)

        source.append(table, pending_action.depth + 1, intend)

    def _trigger_batch(
        self, rule: LiveRule, pending_action: PendingAction, rows: pa.Table
    ) -> TriggerBatch:
        definition = rule.definition
        made = self.made(rule, pending_action.action, rows)
        return TriggerBatch(
            rule.name, definition.event, pending_action.key, rows, made, self.doors.allowed()
        )


def _seconds(rule: LiveRule) -> float:
    return rule.definition.limits.timeout.total_seconds()
