"""What rules have to do is kept once, is never lost unseen, and outlives the process."""

from pathlib import Path
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from penstock.database import IN_MEMORY
from penstock.runtime.durable.pending_action import Fired
from penstock.runtime.durable.pending_actions import PendingActions

RULE = "hot.7"


def rows(*numbers: int) -> pa.Table:
    return pa.table({"n": pa.array(numbers, pa.int64())})


def fired(*numbers: int, action: int = 0, room: int = 100, first: bool = True) -> Fired:
    return Fired(RULE, action, rows(*numbers), 0, room, first)


def left(pending_actions: PendingActions, action: int = 0) -> list[int]:
    found = pending_actions.next(RULE, action)
    return [] if found is None else found.rows["n"].to_pylist()


def test_an_occasion_that_comes_again_adds_nothing(tmp_path: Path) -> None:
    pending_actions = PendingActions(tmp_path / "firings.db")
    assert pending_actions.put("rules:x", 1, [fired(1, 2)], 5.0)
    assert not pending_actions.put("rules:x", 1, [fired(1, 2)], 6.0)
    pending_actions.close()
    again = PendingActions(tmp_path / "firings.db")
    assert not again.put("rules:x", 1, [fired(1, 2)], 7.0)
    assert again.put("rules:x", 2, [fired(3)], 7.0)
    assert left(again) == [1, 2]
    assert again.figures(RULE).fired == 3
    assert again.lanes() == {(RULE, 0): 0.0}
    again.close()


def test_what_was_done_of_a_firing_is_not_done_again(tmp_path: Path) -> None:
    pending_actions = PendingActions(tmp_path / "firings.db")
    pending_actions.put("rules:x", 1, [fired(1, 2, 3)], 5.0)
    first = pending_actions.next(RULE, 0)
    assert first is not None
    pending_actions.did(first, 1)
    second = pending_actions.next(RULE, 0)
    assert second is not None
    assert left(pending_actions) == [2, 3]
    assert first.key != second.key
    pending_actions.failed(second, "no", 9.0)
    third = pending_actions.next(RULE, 0)
    assert third is not None
    assert (third.tries, third.due, third.key) == (1, 9.0, second.key)
    pending_actions.bury(third, 1, "never", most=10)
    (dead,) = pending_actions.dead(RULE)
    assert dead.key == second.key
    assert dead.rows["n"].to_pylist() == [2]
    assert left(pending_actions) == [3]
    pending_actions.close()


def test_an_intent_tells_after_a_crash_what_to_do(tmp_path: Path) -> None:
    pending_actions = PendingActions(tmp_path / "firings.db")
    pending_actions.put("rules:x", 1, [fired(1, 2), fired(1, 2, action=1, first=False)], 5.0)
    for action in (0, 1):
        found = pending_actions.next(RULE, action)
        assert found is not None
        pending_actions.intend(found, "stream", 40, 2)
    pending_actions.close()
    again = PendingActions(tmp_path / "firings.db")
    done, undone = again.intents()
    assert (done.stream, done.position, done.taken) == ("stream", 40, 2)
    again.settle(done, happened=True)
    again.settle(undone, happened=False)
    assert left(again, 0) == []
    assert left(again, 1) == [1, 2]
    assert again.intents() == []
    again.close()


OPERATIONS = st.lists(
    st.tuples(
        st.sampled_from(["put", "did", "failed", "bury", "retry"]),
        st.integers(1, 6),
        st.integers(0, 8),
    ),
    max_size=30,
)


@given(OPERATIONS)
def test_every_tuple_is_done_or_waits_or_is_dead_or_is_counted_as_lost(
    operations: list[tuple[str, int, int]],
) -> None:
    pending_actions, number, most = PendingActions(IN_MEMORY), 0, 6
    for what, count, room in operations:
        found = pending_actions.next(RULE, 0)
        match what:
            case "put":
                number += 1
                pending_actions.put("rules:x", number, [fired(*range(count), room=room)], 1.0)
            case "retry":
                pending_actions.retry(RULE)
            case _ if found is not None:
                some = min(count, found.count - found.done)
                arguments: dict[str, tuple[Any, ...]] = {
                    "did": (found, some),
                    "failed": (found, "no", 2.0),
                }
                if what == "bury":
                    pending_actions.bury(found, some, "never", most=most)
                else:
                    getattr(pending_actions, what)(*arguments[what])
        told = pending_actions.figures(RULE)
        assert told.fired == told.done + told.waiting + told.dead + told.lost
        if what == "bury":
            assert told.dead <= most or found is None
    pending_actions.close()


def test_an_occasion_that_must_be_asked_once_is_noted_also_where_it_fires_nothing(
    tmp_path: Path,
) -> None:
    pending_actions = PendingActions(tmp_path / "firings.db")
    assert pending_actions.put("rules:x", 1, [], 5.0)
    assert pending_actions.place("rules:x") == 0
    assert pending_actions.put("rules:x", 2, [], 5.0, once=True)
    assert pending_actions.place("rules:x") == 2
    assert not pending_actions.put("rules:x", 2, [fired(1)], 6.0, once=True)
    assert pending_actions.next(RULE, 0) is None
    pending_actions.close()
