"""Pieces of a task give what the task gives, however it is cut."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine.workers.crossing import write_items
from penstock.engine.workers.ledger import Ledger
from penstock.engine.workers.lost import given_up
from penstock.engine.workers.pieces import (
    PIECE_BYTES,
    PIECES_A_SLOT,
    Grain,
    cut,
    in_pieces,
    takes_each_item,
)
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
    central,
    fft3,
    pcc,
    pipe,
    rr_part,
    s_merge,
    stream_function,
    window_aggregate,
)
from penstock.functions.data.operator_state import to_bytes
from penstock.functions.flows.figures import NodeFigures
from penstock.functions.flows.flow import Dataflow, FlowInput
from penstock.functions.flows.stages import stages_of
from penstock.functions.operators.operator import InputItems
from penstock.model.schema import Column

RADIO = StreamType("radio", (Column("ts", "timestamp"), Column("x", "complex vector")), "ts")
PROGRESS = 7000


@stream_function
def fussy(rows: Any) -> Any:
    if (rows.real.astype(int) % 3 == 2).any():
        raise ValueError("no such remainder")
    return rows + 1


@stream_function(over="items")
def even(items: Items) -> Any:
    return items["x"][:, 0].real % 2 == 0


FLOWS = {
    "one": central(fft3),
    "some are held": central(fussy),
    "some are let through": pipe(even, fft3),
    "several": pipe(fussy, even, fft3),
}


def items(count: int, length: int = 4) -> Items:
    vectors = np.outer(np.arange(count), np.ones(length)).astype(np.complex64)
    return RADIO(ts=np.arange(count) * 1000, x=vectors)


def work(flow: Dataflow, given: Items) -> TaskInput:
    program = stages_of(flow, RADIO).stages[0][0].program
    return TaskInput(program, program.fresh(), {FlowInput(0): InputItems(given, PROGRESS)}, 0.0)


def all_of(works: Sequence[TaskInput]) -> list[TaskResult]:
    return [done(each) for each in works]


def is_same(whole: TaskResult, pieces: TaskResult) -> None:
    assert pieces.held == whole.held
    assert to_bytes(pieces.states) == to_bytes(whole.states)
    assert [replace(each, seconds=0.0, bytes_in=0, bytes_out=0) for each in pieces.figures] == [
        replace(each, seconds=0.0, bytes_in=0, bytes_out=0) for each in whole.figures
    ]
    assert pieces.out.keys() == whole.out.keys()
    for number, arrival in whole.out.items():
        assert pieces.out[number].progress == arrival.progress
        assert pieces.out[number].items.table.equals(arrival.items.table)
        assert (pieces.out[number].items.numbers == arrival.items.numbers).all()


@given(st.sampled_from(sorted(FLOWS)), st.integers(0, 20), st.integers(0, 30))
def test_any_cut_gives_what_the_whole_gives(name: str, count: int, pieces: int) -> None:
    task = work(FLOWS[name], items(count))
    (found,) = in_pieces([task], lambda _: pieces, all_of)
    is_same(done(task), found)


@given(st.integers(0, 20), st.integers(0, 30))
def test_pieces_are_in_order_about_equal_and_none_is_empty(count: int, pieces: int) -> None:
    found = cut(work(FLOWS["one"], items(count)), pieces)
    spans = [each.span or (0, count) for each in found]
    assert [row for start, stop in spans for row in range(start, stop)] == list(range(count))
    assert len(found) == max(1, min(pieces, count))
    sizes = [stop - start for start, stop in spans]
    assert max(sizes) - min(sizes) <= 1


def test_what_looks_at_several_items_is_not_cut() -> None:
    for flow in (central(window_aggregate("sum", 3, 2)), pcc(2, rr_part, fft3, s_merge())):
        task = work(flow, items(12))
        assert not takes_each_item(task.program)
        assert in_pieces([task], lambda _: 4, lambda works: [*map(_spanless, works)])


def _spanless(each: TaskInput) -> TaskResult:
    assert each.span is None
    return done(each)


def test_pieces_by_workers_give_what_the_driver_gives(tmp_path: Path) -> None:
    task = work(FLOWS["several"], items(11))
    path = tmp_path / "in.arrow"
    write_items(task.arrivals[FlowInput(0)].items, path)

    def there(works: Sequence[TaskInput]) -> list[TaskResult]:
        found = []
        for place, each in enumerate(works):
            room = tmp_path / str(place)
            room.mkdir()
            ways = {FlowInput(0): (str(path), PROGRESS)}
            load = Load(each.program, to_bytes(each.states), ways, str(room), 0.0, each.span)
            found.append(brought_back(each.program, Unload(*done_in_worker(load))))
        return found

    (found,) = in_pieces([task], lambda _: 3, there)
    is_same(done(task), found)


def test_a_lost_piece_holds_its_items_and_the_others_go_on() -> None:
    task = work(FLOWS["one"], items(9))

    def second_lost(works: Sequence[TaskInput]) -> list[TaskResult]:
        found = all_of(works)
        found[1] = given_up(works[1], TaskResult({}, works[1].states, (), (), lost="not in time"))
        return found

    (found,) = in_pieces([task], lambda _: 3, second_lost)
    (number,) = found.out
    assert found.out[number].items.numbers.tolist() == [0, 1, 2, 6, 7, 8]
    assert [each.kind for each in found.held] == ["lost"] * 3


@pytest.mark.parametrize(
    ("count", "length", "seconds", "pieces"),
    [
        (10, 4, 0.0, 1),  # small, and nothing is known of it
        (10, 4, 1e-6, 1),  # small and cheap
        (10, 4, 1.0, 2 * PIECES_A_SLOT),  # small and dear: for the slots
        (2, PIECE_BYTES // 8, 1e-9, 3),  # large: by bytes, of which times and offsets are a few
    ],
)
def test_a_run_is_cut_by_bytes_or_for_the_slots(
    count: int, length: int, seconds: float, pieces: int
) -> None:
    task = work(FLOWS["one"], items(count, length))
    (number,) = task.program.numbers
    known = NodeFigures(number, "fft3", 0, "compute", seconds=10 * seconds, items_in=10)
    ledger = Ledger({number: known} if seconds else {})
    assert Grain(2, ledger).pieces(task) == pieces
