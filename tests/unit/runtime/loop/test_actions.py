"""Actions within their limits, on a clock that is moved by hand."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.errors import PySparkException

from penstock.clock import HandClock
from penstock.database import IN_MEMORY
from penstock.engine.actions.action import TriggerBatch
from penstock.engine.actions.call import Callables
from penstock.engine.allowed import Allowed
from penstock.engine.interfaces.pushed.push import Push
from penstock.errors import ActionError, BadRowError
from penstock.events.cascades import DEEPEST
from penstock.model.rules import ActionLimits, CallAction, Coupling, Insert, RuleDefinition
from penstock.model.schema import Column, Schema
from penstock.plan.events.bind_rule import BoundRule
from penstock.plan.operators import Scan
from penstock.runtime.durable.pending_action import CONDITION, Fired
from penstock.runtime.durable.pending_actions import PendingActions
from penstock.runtime.loop.actions import Acting, Doors
from penstock.runtime.loop.conditions import ConditionAnswer
from penstock.runtime.work.live_rule import LiveRule, LiveTriggers
from penstock.runtime.work.poison import separated


def fail_on(poison: set[int], rows: pa.Table) -> pa.Table:
    """Return the rows, or raise what Spark raises of a value."""
    if poison & set(rows["n"].to_pylist()):
        raise ValueOfThisError("division by zero")
    return rows


class ValueOfThisError(PySparkException):
    """A data exception."""

    def getSqlState(self) -> str:  # noqa: N802 - Spark's name
        return "22012"


LEAF = Scan("e", 0, Schema((Column("n", "bigint"),)))


class World:
    """A rule that calls a function; it raises what it is told to."""

    def __init__(
        self, coupling: Coupling = Coupling.DETACHED, action: Any = None, **limits: Any
    ) -> None:
        self.clock, self.pending_actions = HandClock(100.0), PendingActions(IN_MEMORY)
        self.calls: list[tuple[list[int], str]] = []
        self.inserted: list[tuple[list[int], int]] = []
        self.fails = 0
        self.poison: set[int] = set()
        self.ends_after = -1
        definition = RuleDefinition(
            "r", "e", "", (action or CallAction("f"),), coupling, limits=ActionLimits(**limits)
        )
        self.rule = LiveRule(definition, BoundRule(LEAF, LEAF, (None,)), 1)
        calls = Callables({"f": self._call})
        doors = Doors(self._stream, lambda _: None, lambda _: None, Allowed, calls, lambda *_: [])
        self.acting = Acting(self.pending_actions, self.clock, self._made, doors, self._ask)

    def _made(self, _rule: LiveRule, _action: int, rows: pa.Table) -> pa.Table:
        """Return the rows, unless one of them is poison."""
        fail_on(self.poison, rows)
        return rows

    def _ask(self, rule: LiveRule, rows: pa.Table) -> ConditionAnswer:
        """Let even numbers fire, unless one of them is poison."""
        parts = separated(rows, lambda piece: fail_on(self.poison, piece))
        good = pa.concat_tables([rows.slice(0, 0), *(p.made for p in parts if p.made is not None)])
        even = good.filter(pa.array([n % 2 == 0 for n in good["n"].to_pylist()], pa.bool_()))
        return ConditionAnswer(
            {rule.key: even}, {}, {rule.key: [p for p in parts if p.made is None]}
        )

    def fire(self, *numbers: int, depth: int = 0, trigger_batch: int = 1) -> None:
        table = pa.table({"n": pa.array(numbers, pa.int64())})
        self.pending_actions.put(
            "x", trigger_batch, [Fired(self.rule.key, 0, table, depth, 1000)], 100.0
        )

    def run(self, seconds: float = 1000.0) -> float:
        """Act until nothing waits; return how long that took."""
        began, end = self.clock.now(), self.clock.now() + seconds
        while (due := self.acting.step(self.rule, 0)) is not None and self.clock.now() < end:
            if due:
                self.clock.sleep(max(1e-6, due - self.clock.now()))
        return self.clock.now() - began

    def numbers(self) -> list[int]:
        """Return what was inserted, in order."""
        return [number for numbers, _ in self.inserted for number in numbers]

    def _call(self, rows: pa.Table, key: str) -> None:
        self.calls.append((rows["n"].to_pylist(), key))
        if self.fails:
            self.fails -= 1
            raise ValueError("not now")

    def _stream(self, _: str) -> tuple[str, Push]:
        world = self

        class Stream:
            def append(self, table: pa.Table, depth: int, intend: Callable[[int], None]) -> int:
                if len(world.inserted) == world.ends_after:
                    raise BadRowError("s has ended")
                intend(7)
                world.inserted.append((table["n"].to_pylist(), depth))
                return 0

        return "s", Stream()  # type: ignore[return-value]


def test_a_failing_action_is_tried_again_with_the_same_key_and_longer_waits() -> None:
    world = World(retries=4, backoff=timedelta(seconds=1))
    world.fails = 3
    world.fire(1, 2)
    assert world.run() == pytest.approx(1 + 2 + 4, abs=0.01)
    assert [numbers for numbers, _ in world.calls] == [[1, 2]] * 4
    assert len({key for _, key in world.calls}) == 1
    told = world.pending_actions.figures(world.rule.key)
    assert (told.done, told.failures, told.dead) == (2, 3, 0)


def test_what_fails_for_good_is_a_dead_letter_and_the_next_firing_is_tried() -> None:
    world = World(retries=1, backoff=timedelta(seconds=1))
    world.fails = 2
    world.fire(1)
    world.fire(2, trigger_batch=2)
    world.run()
    told = world.pending_actions.figures(world.rule.key)
    assert (told.done, told.failures, told.dead) == (1, 2, 1)
    assert "not now" in told.cause
    key = world.calls[0][1]
    world.pending_actions.retry(world.rule.key)
    world.run()
    assert world.calls[-1] == ([1], key)
    assert world.pending_actions.figures(world.rule.key).dead == 0


def test_a_rate_spreads_what_a_detached_rule_does() -> None:
    world = World(rate=10.0)
    world.fire(*range(35))
    assert world.run() == pytest.approx(2.5, abs=0.2)
    assert sum(len(numbers) for numbers, _ in world.calls) == 35
    assert world.pending_actions.figures(world.rule.key).held_back == 25


@pytest.mark.parametrize("coupling", [Coupling.IMMEDIATE, Coupling.DEFERRED])
def test_a_rate_makes_no_train_wait(coupling: Coupling) -> None:
    world = World(coupling, rate=10.0)
    world.fire(*range(35))
    assert world.run() == pytest.approx(0.0, abs=0.001)
    told = world.pending_actions.figures(world.rule.key)
    assert (told.done, told.held_back, told.dead) == (10, 25, 25)


def test_a_cascade_ends_at_its_limit() -> None:
    world = World(action=Insert("s", ("n",)))
    world.fire(1, depth=DEEPEST - 1)
    world.fire(2, depth=DEEPEST, trigger_batch=2)
    world.run()
    assert world.inserted == [([1], DEEPEST)]
    told = world.pending_actions.figures(world.rule.key)
    assert (told.done, told.held_back, told.dead) == (1, 1, 1)


def test_a_tuple_that_cannot_be_inserted_takes_no_other_with_it() -> None:
    world = World(action=Insert("s", ("n",)))
    world.poison = {3, 4, 7}
    world.fire(*range(10))
    assert world.run() == 0.0  # it would fail each time
    assert world.numbers() == [0, 1, 2, 5, 6, 8, 9]
    told = world.pending_actions.figures(world.rule.key)
    assert (told.done, told.dead, told.waiting, told.lost) == (7, 3, 0, 0)
    world.poison = {4}
    world.pending_actions.retry(world.rule.key)
    world.run()
    assert world.numbers() == [0, 1, 2, 5, 6, 8, 9, 3, 7]
    (letter,) = world.pending_actions.dead(world.rule.key)
    assert letter.rows["n"].to_pylist() == [4]
    assert letter.key.endswith(".4")  # its place in what fired first


def test_an_insert_that_fails_between_two_parts_goes_on_behind_what_is_done() -> None:
    world = World(action=Insert("s", ("n",)), retries=0)
    world.poison, world.ends_after = {2}, 1
    world.fire(*range(5))
    world.run()
    assert world.numbers() == [0, 1]
    told = world.pending_actions.figures(world.rule.key)
    assert (told.done, told.dead) == (2, 3)
    assert [len(each.rows) for each in world.pending_actions.dead(world.rule.key)] == [1, 2]


def test_dead_letters_of_a_condition_are_asked_again() -> None:
    world = World(action=Insert("s", ("n",)))
    rows = pa.table({"n": pa.array(range(6), pa.int64())})
    unasked = Fired(world.rule.key, CONDITION, rows, 0, 0, False, "division by zero", 100)
    assert world.pending_actions.put("x", 1, [unasked], 100.0)
    assert not world.pending_actions.put("x", 1, [unasked], 100.0)
    world.run()
    assert world.inserted == []
    world.poison = {4}
    assert world.pending_actions.retry(world.rule.key) == 6
    while world.acting.step(world.rule, CONDITION) is not None:
        pass
    world.run()
    assert world.numbers() == [0, 2]
    told = world.pending_actions.figures(world.rule.key)
    assert (told.fired, told.done, told.dead) == (2, 2, 1)


@given(st.sets(st.integers(0, 40)), st.integers(1, 41), st.integers(1, 100))
def test_parts_hold_every_tuple_once_and_poison_alone_while_there_are_tries(
    poison: set[int], count: int, most: int
) -> None:
    rows = pa.table({"n": pa.array(range(count), pa.int64())})
    parts = separated(rows, lambda piece: fail_on(poison, piece), most=most)
    assert [n for part in parts for n in part.rows["n"].to_pylist()] == list(range(count))
    for part in parts:
        bad = poison & set(part.rows["n"].to_pylist())
        assert (part.made is None) == bool(bad) == bool(part.cause)
        assert most < 2 * 41 or not bad or part.rows.num_rows == 1


def test_what_is_no_fault_of_a_tuple_is_raised() -> None:
    def fail(_: pa.Table) -> pa.Table:
        raise OSError("the disk")

    with pytest.raises(OSError, match="the disk"):
        separated(pa.table({"n": [1, 2]}), fail)


def test_nobody_calls_what_nobody_registered() -> None:
    with pytest.raises(ActionError):
        Callables().perform("f", None, 1.0)  # type: ignore[arg-type]


@pytest.mark.parametrize("error", [ValueError, SystemExit])
def test_what_an_action_raises_is_an_error_of_the_action(error: type[BaseException]) -> None:
    def fail(*_: object) -> None:
        raise error("no")

    with pytest.raises(ActionError, match=error.__name__):
        Callables({"f": fail}).perform("f", TriggerBatch("r", "e", "k", pa.table({})), 1.0)


def test_rules_of_one_occasion_act_by_priority_and_then_by_age() -> None:
    each = LiveTriggers(Coupling.IMMEDIATE, LEAF, "rules on e")
    for incarnation, priority in ((1, 5), (2, 9), (3, 5), (4, 0)):
        definition = RuleDefinition(
            f"r{incarnation}", "e", "", (CallAction("f"),), priority=priority
        )
        bound = BoundRule(LEAF, LEAF, (None,))
        each.rules[definition.name] = LiveRule(definition, bound, incarnation)
    assert [rule.incarnation for rule in each.in_order()] == [2, 1, 3, 4]
