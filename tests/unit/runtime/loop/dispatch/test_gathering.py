"""Which runs wait for more tuples: never one that somebody waits for."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine.trains.buffers import Train
from penstock.engine.trains.rows import in_memory
from penstock.model.schema import Column, Schema
from penstock.model.trains import BEGIN_OF_TIME, END_OF_TIME, TrainInfo
from penstock.plan.operators import EventTime, Filter, Gate, Operator, WindowAggregate, key
from penstock.plan.operators.windows.window_assigner import spans
from penstock.plan.sharing.units import Unit
from penstock.runtime.loop.dispatch import run_queue
from penstock.runtime.loop.dispatch.gathering import MOST_PAUSE_SECONDS, PAUSE, gathers_until
from penstock.runtime.work.live_unit import LiveUnit
from penstock.runtime.work.reading import Reading
from penstock.schedule.costs.sizes import Sizes
from tests.unit.model.arrow_twin import arrow_without_spark
from tests.unit.model.hall import Hall, scan

STREAM = scan("s")
NAME = key(STREAM)
BOUNDS = Schema((Column("window_start", "timestamp"), Column("window_end", "timestamp")))
WIDTH = 10
COUNTED = WindowAggregate(STREAM, EventTime("ts"), spans(WIDTH, WIDTH), (), (), BOUNDS)
ENDED = 100.0
COSTLY_JOB = Sizes().add(10, 0.1, ENDED).add(1000, 0.12, ENDED)
COSTLY_ROWS = Sizes().add(10, 0.1, ENDED).add(1000, 5.0, ENDED)


def train(mark: int, rows: int = 10, **told: object) -> Train:
    info = TrainInfo(1, rows, 0, ENDED, watermark=mark, **told)  # type: ignore[arg-type]  # by name
    return Train(info, in_memory(pa.table({"n": range(rows)})))


def until(
    trains: Sequence[Train], *, before: int = 0, root: Operator = COUNTED, sizes: Sizes = COSTLY_JOB
) -> float:
    unit = Unit(root, (STREAM,), root if isinstance(root, WindowAggregate) else None)
    live = LiveUnit(unit, Path, last_ended=ENDED)
    live.reading = Reading({NAME: before}, reached=(before,))
    return gathers_until(live, {NAME: list(trains)}, sizes)


@given(st.integers(0, 100), st.lists(st.integers(0, 30), min_size=1, max_size=5))
def test_a_run_waits_just_when_it_closes_no_window(before: int, steps: list[int]) -> None:
    marks = [before + sum(steps[: n + 1]) for n in range(len(steps))]
    closes = any((mark // WIDTH) > before // WIDTH for mark in marks)
    assert (until([train(mark) for mark in marks], before=before) > ENDED) == (not closes)


def test_it_waits_for_some_times_what_a_small_run_takes() -> None:
    assert until([train(5)]) == pytest.approx(ENDED + PAUSE * 0.1)
    slow = Sizes().add(10, 2.0, ENDED)
    assert until([train(5)], sizes=slow) == ENDED + MOST_PAUSE_SECONDS


@pytest.mark.parametrize(
    "trains",
    [
        pytest.param([], id="nothing came"),
        pytest.param([train(5, punctuation="k = 1")], id="it says that some come no more"),
        pytest.param([train(5, deadline=ENDED + 9)], id="its worth passes"),
        pytest.param([train(END_OF_TIME)], id="it is the last"),
    ],
)
def test_what_is_wanted_now_runs_now(trains: list[Train]) -> None:
    assert until(trains) == -math.inf


@pytest.mark.parametrize(
    "root",
    [
        Filter(STREAM, ("n > 1",)),
        replace(COUNTED, early=5),
        replace(COUNTED, lateness=5),
    ],
    ids=["a filter", "provisional rows", "corrections"],
)
def test_what_gives_rows_by_each_run_never_waits(root: Operator) -> None:
    assert until([train(5)], root=root) == -math.inf


def test_nothing_waits_where_little_is_saved() -> None:
    assert until([train(5)], sizes=Sizes()) == -math.inf  # nothing is known
    assert until([train(5)], sizes=Sizes().add(10, 0.004, ENDED)) == -math.inf  # Arrow answers
    assert until([train(5, 1000)], sizes=COSTLY_ROWS) == -math.inf
    assert until([train(5, 1000)], sizes=COSTLY_JOB) > ENDED


def test_before_the_first_watermark_nobody_knows_what_closes() -> None:
    assert until([train(5)], before=BEGIN_OF_TIME) == -math.inf


@pytest.fixture
def hall(tmp_path: Path) -> Iterator[Hall]:
    with arrow_without_spark():
        yield Hall(tmp_path / "home")


def test_what_gathers_is_asked_again_when_its_time_is_over(
    hall: Hall, monkeypatch: pytest.MonkeyPatch
) -> None:
    hall.add("a", Filter(STREAM, ("n > 1",)))
    begin = hall.clock.now()
    monkeypatch.setattr(run_queue, "gathers_until", lambda *_: begin + 3)
    hall.push("s", 1)
    hall.take_in()
    look = hall.dispatcher.run_queue.look
    assert not look(hall.clock.now())
    hall.clock.sleep(2)
    assert not look(hall.clock.now())
    hall.clock.sleep(1)
    assert list(look(hall.clock.now())) == list(hall.topology.units)


def test_a_gate_lets_through_what_one_gathers_behind_it(
    hall: Hall, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(STREAM, 0.5)
    hall.add("a", Filter(gate, ("n > 1",)))
    begin = hall.clock.now()
    monkeypatch.setattr(
        run_queue,
        "gathers_until",
        lambda live, *_: -math.inf if live.unit.key == key(gate) else begin + 3,
    )
    for number in range(3):
        hall.push("s", number)
        hall.take_in()
        hall.turn()
    assert hall.topology.buffers.open(key(gate), gate.schema).written == 3
    assert not hall.processor.runs
    hall.topology.dirty.clear()
    (unit,) = hall.topology.units.keys() - {key(gate)}
    hall.dispatcher.run_queue._ask(unit, begin)
    assert hall.topology.dirty == {key(gate)}  # which may have waited for the unit until now
    hall.clock.sleep(3)
    hall.turn()
    assert [rows for _, rows in hall.processor.runs] == [[0, 1, 2]]
