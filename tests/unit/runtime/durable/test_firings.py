"""What rules have to do is kept once, is never lost unseen, and outlives the process."""

from pathlib import Path
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from penstock.database import IN_MEMORY
from penstock.runtime.durable.firing import Fired
from penstock.runtime.durable.firings import Firings

RULE = "hot.7"


def rows(*numbers: int) -> pa.Table:
    return pa.table({"n": pa.array(numbers, pa.int64())})


def fired(*numbers: int, action: int = 0, room: int = 100, first: bool = True) -> Fired:
    return Fired(RULE, action, rows(*numbers), 0, room, first)


def left(firings: Firings, action: int = 0) -> list[int]:
    found = firings.next(RULE, action)
    return [] if found is None else found.rows["n"].to_pylist()


def test_an_occasion_that_comes_again_adds_nothing(tmp_path: Path) -> None:
    firings = Firings(tmp_path / "firings.db")
    assert firings.put("rules:x", 1, [fired(1, 2)], 5.0)
    assert not firings.put("rules:x", 1, [fired(1, 2)], 6.0)
    firings.close()
    again = Firings(tmp_path / "firings.db")
    assert not again.put("rules:x", 1, [fired(1, 2)], 7.0)
    assert again.put("rules:x", 2, [fired(3)], 7.0)
    assert left(again) == [1, 2]
    assert again.figures(RULE).fired == 3
    assert again.lanes() == {(RULE, 0): 0.0}
    again.close()


def test_what_was_done_of_a_firing_is_not_done_again(tmp_path: Path) -> None:
    firings = Firings(tmp_path / "firings.db")
    firings.put("rules:x", 1, [fired(1, 2, 3)], 5.0)
    first = firings.next(RULE, 0)
    assert first is not None
    firings.did(first, 1)
    second = firings.next(RULE, 0)
    assert second is not None
    assert left(firings) == [2, 3]
    assert first.key != second.key
    firings.failed(second, "no", 9.0)
    third = firings.next(RULE, 0)
    assert third is not None
    assert (third.tries, third.due, third.key) == (1, 9.0, second.key)
    firings.bury(third, 1, "never", most=10)
    (dead,) = firings.dead(RULE)
    assert dead.key == second.key
    assert dead.rows["n"].to_pylist() == [2]
    assert left(firings) == [3]
    firings.close()


def test_an_intent_tells_after_a_crash_what_to_do(tmp_path: Path) -> None:
    firings = Firings(tmp_path / "firings.db")
    firings.put("rules:x", 1, [fired(1, 2), fired(1, 2, action=1, first=False)], 5.0)
    for action in (0, 1):
        found = firings.next(RULE, action)
        assert found is not None
        firings.intend(found, "stream", 40, 2)
    firings.close()
    again = Firings(tmp_path / "firings.db")
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
    firings, number, most = Firings(IN_MEMORY), 0, 6
    for what, count, room in operations:
        found = firings.next(RULE, 0)
        match what:
            case "put":
                number += 1
                firings.put("rules:x", number, [fired(*range(count), room=room)], 1.0)
            case "retry":
                firings.retry(RULE)
            case _ if found is not None:
                some = min(count, found.count - found.done)
                arguments: dict[str, tuple[Any, ...]] = {
                    "did": (found, some),
                    "failed": (found, "no", 2.0),
                }
                if what == "bury":
                    firings.bury(found, some, "never", most=most)
                else:
                    getattr(firings, what)(*arguments[what])
        told = firings.figures(RULE)
        assert told.fired == told.done + told.waiting + told.dead + told.lost
        if what == "bury":
            assert told.dead <= most or found is None
    firings.close()


def test_an_occasion_that_must_be_asked_once_is_noted_also_where_it_fires_nothing(
    tmp_path: Path,
) -> None:
    firings = Firings(tmp_path / "firings.db")
    assert firings.put("rules:x", 1, [], 5.0)
    assert firings.place("rules:x") == 0
    assert firings.put("rules:x", 2, [], 5.0, once=True)
    assert firings.place("rules:x") == 2
    assert not firings.put("rules:x", 2, [fired(1)], 6.0, once=True)
    assert firings.next(RULE, 0) is None
    firings.close()
