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
from penstock.engine.actions.action import Occasion
from penstock.engine.actions.call import Callables
from penstock.engine.allowed import Allowed
from penstock.engine.interfaces.pushed.push import Push
from penstock.engine.spark.spark_errors import is_data_error
from penstock.engine.spark.spark_life import refuse_dead
from penstock.engine.table_files import add_rows
from penstock.engine.trains.rows import Rows
from penstock.errors import ActionError, told
from penstock.events.cascades import DEEPEST
from penstock.events.rates import Bucket, full, ready_at, take
from penstock.events.retries import next_try
from penstock.model.definitions import TableDefinition
from penstock.model.rules import Alter, Call, Coupling, Insert, Reach, Steer
from penstock.runtime.durable.firing import CONDITION, Fired, Firing
from penstock.runtime.durable.firings import Firings
from penstock.runtime.durable.home import file_name
from penstock.runtime.loop.asking import Answer, unasked
from penstock.runtime.work.live_rule import LiveRule
from penstock.runtime.work.poison import separated

Made = Callable[[LiveRule, int, pa.Table], pa.Table | None]
Ask = Callable[[LiveRule, pa.Table], Answer]
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

    firings: Firings
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
        firing = self.firings.next(rule.key, action)
        if firing is None:
            return None
        now = self.clock.now()
        if firing.due > now:
            return firing.due
        left = firing.count - firing.done
        if action == CONDITION:
            self._ask(rule, firing, left, now)
            return 0.0
        wanted = left if rule.takes_all(action) else 1
        granted, again = self._granted(rule, firing, wanted, left, now)
        if granted:
            self._try(rule, firing, granted, now)
        return again

    def _granted(
        self, rule: LiveRule, firing: Firing, wanted: int, left: int, now: float
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
            if self._slowed.get((rule.key, firing.action)) != firing.id:
                self._slowed[rule.key, firing.action] = firing.id
                self.firings.held_back(rule.key, left)
            return 0, ready_at(bucket, rate)
        cause = f"more than {rate:g} a second"  # a train waits for no clock
        self._bury(rule, firing, left, cause, counter="held_back")
        return 0, 0.0

    def _try(self, rule: LiveRule, firing: Firing, count: int, now: float) -> None:
        rows = firing.rows.slice(0, count)
        deep = isinstance(rule.definition.actions[firing.action], Insert)
        if deep and firing.depth >= DEEPEST:
            cause = f"{DEEPEST} rules have set each other off: this is a loop"
            self._bury(rule, firing, count, cause, counter="held_back")
            return
        try:
            self._perform(rule, firing, rows)
        except Exception as error:  # whatever an action raises is its own failure
            if deep and is_data_error(error):
                self._insert_apart(rule, firing, rows, now)
            else:
                self._fell(rule, firing, count, error, now)
        else:
            self.firings.did(firing, count)

    def _fell(
        self, rule: LiveRule, firing: Firing, count: int, error: Exception, now: float
    ) -> None:
        """Note that a try failed: there is another one later, or there are dead letters."""
        refuse_dead(error)  # that Spark has died is no failure of an action
        cause = told(error)
        due = next_try(rule.definition.limits, firing.tries + 1, now)
        if due is None:
            self._bury(rule, firing, count, cause)
        else:
            self.firings.failed(firing, cause, due)

    def _insert_apart(self, rule: LiveRule, firing: Firing, rows: pa.Table, now: float) -> None:
        """Insert what can be made; the tuples that the SELECT fails on are dead letters at once.

        It would fail on them each time. Each part is noted before the next, as always from the
        first tuple on, so that a crash between two repeats none.
        """
        action, left = firing.action, rows.num_rows
        try:
            for part in separated(rows, lambda piece: self._made(rule, action, piece)):
                count = part.rows.num_rows
                if part.made is None:
                    self._bury(rule, firing, count, part.cause)
                else:
                    self._add(rule, firing, part.made)
                    self.firings.did(firing, count)
                firing, left = replace(firing, done=firing.done + count, tries=0), left - count
        except Exception as error:  # what is left of it can be tried again
            self._fell(rule, firing, left, error, now)

    def _ask(self, rule: LiveRule, firing: Firing, count: int, now: float) -> None:
        """Ask a rule's condition again about dead letters, and keep what it fires."""
        answer = self.ask(rule, firing.rows.slice(0, count))
        if cause := answer.failures.get(rule.key):
            self._bury(rule, firing, count, cause)
            return
        fires = answer.rows.get(rule.key)
        actions = range(len(rule.definition.actions)) if fires is not None and len(fires) else ()
        fired = [
            Fired(rule.key, action, fires, firing.depth, fires.num_rows, not action)
            for action in actions
            if fires is not None
        ]
        fired += unasked([rule], answer, firing.depth)
        self.firings.asked(firing, fired, count, now)

    def _bury(
        self, rule: LiveRule, firing: Firing, count: int, cause: str, counter: str = "failures"
    ) -> None:
        most = rule.definition.limits.dead
        self.firings.bury(firing, count, cause, most=most, counter=counter)

    def _perform(self, rule: LiveRule, firing: Firing, rows: pa.Table) -> None:
        match rule.definition.actions[firing.action]:
            case Insert():
                self._add(rule, firing, self._made(rule, firing.action, rows))
            case Steer() | Alter() as steer:
                self.doors.steer(steer)
            case Call(name):
                occasion = self._occasion(rule, firing, rows)
                self.doors.calls.perform(name, occasion, _seconds(rule))
            case Reach(connector):
                occasion = self._occasion(rule, firing, rows)
                actions.build(connector).perform(occasion, _seconds(rule))

    def _made(self, rule: LiveRule, action: int, rows: pa.Table) -> pa.Table:
        table = self.made(rule, action, rows)
        if table is None or table.num_rows != rows.num_rows:
            raise ActionError(f"rule {rule.name} made no rows")
        return table

    def _add(self, rule: LiveRule, firing: Firing, table: pa.Table) -> None:
        """Add rows to the stream or table of an INSERT."""
        action = rule.definition.actions[firing.action]
        target = action.target if isinstance(action, Insert) else ""
        if (kept := self.doors.table(target)) is not None:
            add_rows(kept, table, file_name(firing.key))  # done again, it is the same file
            return
        stream, source = self.doors.stream(target)

        def intend(position: int) -> None:
            self.firings.intend(firing, stream, position, table.num_rows)

        source.append(table, firing.depth + 1, intend)

    def _occasion(self, rule: LiveRule, firing: Firing, rows: pa.Table) -> Occasion:
        definition = rule.definition
        made = self.made(rule, firing.action, rows)
        return Occasion(rule.name, definition.event, firing.key, rows, made, self.doors.allowed())


def _seconds(rule: LiveRule) -> float:
    return rule.definition.limits.timeout.total_seconds()
