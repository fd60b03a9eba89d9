"""Rows of states count towards the bound for as long as they are in memory."""

import pyarrow as pa
import pytest

from penstock.engine.trains.memory_budget import MemoryBudget
from penstock.engine.trains.rows import Rows, in_memory


def eight_bytes() -> Rows:
    return in_memory(pa.table({"n": pa.array([1], pa.int64())}))


def test_rows_stay_while_all_together_keep_within_the_bound() -> None:
    room, held = MemoryBudget(16), [eight_bytes() for _ in range(3)]
    assert [room.has_room(each) for each in held] == [True, True, False]


def test_rows_that_are_asked_about_again_count_once() -> None:
    room, rows = MemoryBudget(8), eight_bytes()
    assert room.has_room(rows)
    assert room.has_room(rows)


@pytest.mark.parametrize("how", ["deleted", "forgotten"])
def test_rows_that_are_gone_make_room(how: str) -> None:
    room, held = MemoryBudget(8), [eight_bytes()]
    assert room.has_room(held[0])
    if how == "deleted":
        held[0].delete()
    else:
        held.clear()
    assert room.has_room(eight_bytes())
