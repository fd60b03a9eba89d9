"""Functions in SQL inside flows: whoever evaluates them, items keep their numbers and order."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import FunctionError, RunError
from penstock.functions import Items, StreamType
from penstock.functions.data.operator_state import OperatorState
from penstock.functions.operators.operator import InputItems, OperatorStep
from penstock.functions.operators.select_call import PLACE, Evaluate, Selecting
from penstock.model.schema import Column

TIMED = StreamType("timed", (Column("ts", "bigint"), Column("n", "bigint")), "ts")
ONLY = StreamType("only", (Column("ts", "bigint"),), "ts")


def stepped(values: list[int], evaluate: Evaluate | None) -> OperatorStep:
    times = np.arange(len(values), dtype=np.int64)
    items = Items.of(TIMED, {"ts": times, "n": np.array(values, np.int64)}).numbered(times + 100)
    select = Selecting("f", TIMED, ONLY, lambda view: f"SELECT ts FROM {view}")
    return replace(select, evaluate=evaluate).step(OperatorState(), [InputItems(items, 7)], 0.0)


@given(st.lists(st.integers(0, 3)), st.randoms(use_true_random=False))
def test_rows_keep_the_number_of_their_item_in_whatever_order_they_come(
    values: list[int], chance: object
) -> None:
    def evaluate(select: Selecting, table: pa.Table) -> pa.Table:
        """Answer with each item as often as its value says, in any order."""
        assert select.statement("v") == "SELECT ts FROM v"
        counts = table["n"].to_numpy()
        if (counts == 3).any():
            raise FunctionError("three is too many")
        rows = np.repeat(np.arange(len(counts)), counts)
        chance.shuffle(rows)  # type: ignore[attr-defined]
        return table.take(pa.array(rows)).select(["ts", PLACE])

    step = stepped(values, evaluate)
    expected = [at for at, value in enumerate(values) if value < 3 for _ in range(value)]
    assert step.items["ts"].tolist() == expected
    assert step.items.numbers.tolist() == [100 + at for at in expected]
    held = [n for each in step.withheld for n in each.items.numbers.tolist()]
    assert held == [100 + at for at, value in enumerate(values) if value == 3]
    assert step.progress == 7


def test_where_nobody_evaluates_nothing_is_held_in_silence() -> None:
    with pytest.raises(RunError):
        stepped([1, 2], None)
