"""A task over files gives what it gives over items, and one that is lost holds its share."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from penstock.engine.workers.crossing import read_items, write_items
from penstock.engine.workers.ledger import Ledger
from penstock.engine.workers.lost import given_up
from penstock.engine.workers.task import (
    Load,
    TaskInput,
    TaskResult,
    Unload,
    brought_back,
    done,
    done_in_worker,
)
from penstock.functions import (
    Items,
    StreamType,
    fft3,
    pcc,
    rr_part,
    s_merge,
    stream_function,
    window_aggregate,
)
from penstock.functions.data.operator_state import to_bytes
from penstock.functions.flows.flow import FlowInput
from penstock.functions.flows.stages import Task, stages_of
from penstock.functions.operators.operator import InputItems
from penstock.model.schema import Column

RADIO = StreamType("radio", (Column("ts", "timestamp"), Column("x", "complex vector")), "ts")
PROGRESS = 7000


@stream_function
def fussy(rows: Any) -> Any:
    if (rows.real > 5).any():
        raise ValueError("five is too much")
    return rows


def items(count: int = 8) -> Items:
    vectors = np.outer(np.arange(count), np.ones(4)).astype(np.complex64)
    return RADIO(ts=np.arange(count) * 1000, x=vectors)


def task(function: Any) -> Task:
    return stages_of(pcc(2, rr_part, function, s_merge()), RADIO).stages[0][1]


def work(made: Task) -> TaskInput:
    arrivals = {FlowInput(0): InputItems(items(), PROGRESS)}
    return TaskInput(made.program, made.program.fresh(), arrivals, 0.0)


@pytest.mark.parametrize("function", [fft3, fussy, window_aggregate("sum", 3, 2)])
def test_a_worker_gives_what_the_driver_gives(function: Any, tmp_path: Path) -> None:
    given = work(task(function))
    path = tmp_path / "in.arrow"
    write_items(given.arrivals[FlowInput(0)].items, path)
    room = tmp_path / "room"
    room.mkdir()
    ways = {FlowInput(0): (str(path), PROGRESS)}
    load = Load(given.program, to_bytes(given.states), ways, str(room), 0.0)
    there = brought_back(given.program, Unload(*done_in_worker(load)))
    for file in (path, *room.iterdir()):
        file.unlink()  # what was read stays readable
    here = done(given)
    assert there.held == here.held
    assert to_bytes(there.states) == to_bytes(here.states)
    assert [f.items_out for f in there.figures] == [f.items_out for f in here.figures]
    for number, arrival in here.out.items():
        assert there.out[number].progress == arrival.progress
        assert there.out[number].items.table.equals(arrival.items.table)
        np.testing.assert_array_equal(there.out[number].items.numbers, arrival.items.numbers)


def test_what_a_function_fails_on_is_named() -> None:
    result = done(work(task(fussy)))
    assert [each.function for each in result.held] == ["fussy"]
    assert "five is too much" in result.held[0].cause
    assert '"x": [[7.0, 0.0]' in result.held[0].item


def test_a_lost_task_holds_its_share_and_goes_on_with_the_next() -> None:
    given = work(task(fft3))
    lost = given_up(given, TaskResult({}, given.states, (), (), lost="too slow"))
    assert len(lost.held) == 4
    assert {each.kind for each in lost.held} == {"lost"}
    (arrival,) = lost.out.values()
    assert (len(arrival.items), arrival.progress) == (0, PROGRESS)
    assert to_bytes(lost.states) == to_bytes(done(given).states)


def test_items_are_the_same_after_a_crossing(tmp_path: Path) -> None:
    some = items().take(np.array([1, 4, 6]))
    write_items(some, tmp_path / "x.arrow")
    again = read_items(tmp_path / "x.arrow", RADIO)
    assert again.table.equals(some.table)
    assert again.numbers.tolist() == [1, 4, 6]


def test_a_ledger_is_the_same_after_a_checkpoint() -> None:
    made, ledger = task(fft3), Ledger()
    for _ in range(2):
        ledger.add(made, done(work(made)).figures, 0.5, 2.0)
    again = Ledger.back(ledger.kept())
    assert again == ledger
    name = made.program.numbers[-1]
    assert (again.crossing[name], again.elapsed[name]) == (1.0, 4.0)
    assert again.nodes[name].items_in == 8
