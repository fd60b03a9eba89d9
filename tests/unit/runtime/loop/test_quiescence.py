"""Waits for what nobody is going to do end in an error, and no others."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.clock import HandClock
from penstock.engine.trains.buffers import BufferPool
from penstock.errors import RunError, StalledError
from penstock.model.definitions import QueryState
from penstock.runtime.durable.journal_memory import MemoryJournal
from penstock.runtime.loop.checkpoint_writer import CheckpointWriter
from penstock.runtime.loop.control import EVERYTHING, ROUND_ROBIN, Control
from penstock.runtime.loop.deliveries import Deliveries
from penstock.runtime.loop.dispatch.dispatcher import Dispatcher
from penstock.runtime.loop.quiescence import Quiescence, Watchdog
from penstock.runtime.topology.topology import Topology
from penstock.runtime.work.worker_pool import WorkerPool
from penstock.schedule import RoundRobin

LONG = 300.0  # seconds; nothing here may take half as long


class Replaying(Topology):
    """A topology in which a recorded run waits for ever."""

    def is_replaying(self) -> bool:
        return True


@pytest.fixture
def quiescence(tmp_path: Path) -> Quiescence:
    processor: Any = SimpleNamespace(slots=1)
    topology = Replaying(BufferPool(tmp_path), lambda _: tmp_path, lambda *_: None)
    journal, clock, pool = MemoryJournal(), HandClock(0.0), WorkerPool(1)
    dispatcher = Dispatcher(topology, pool, journal, clock, processor, RoundRobin())
    control = Control(dispatcher, ROUND_ROBIN, EVERYTHING)
    checkpoints = CheckpointWriter(topology, control, journal, tmp_path, clock, 10.0)
    deliveries = Deliveries(topology, pool, journal, clock)
    return Quiescence(topology, pool, deliveries, checkpoints)


def test_a_mark_that_stays_is_no_progress_only_after_its_time() -> None:
    dog = Watchdog(seconds=10)
    looks = [("a", 0), ("a", 9), ("b", 10), ("b", 19), ("a", 19.5), ("a", 29), ("a", 29.5)]
    assert [dog.sees_no_progress(*look) for look in looks] == [False] * 6 + [True]


def test_who_holds_everything_still_is_told_at_once_that_its_wait_would_not_end(
    quiescence: Quiescence,
) -> None:
    with quiescence.resting(), pytest.raises(StalledError):
        quiescence.catch_up()


def test_a_wait_with_a_time_out_ends(quiescence: Quiescence) -> None:
    assert not quiescence.catch_up(0.05)


def test_a_wait_for_a_supervisor_that_never_looks_is_an_error(
    quiescence: Quiescence, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Watchdog.__init__, "__defaults__", (0.05, None, 0.0))
    with pytest.raises(StalledError):
        quiescence.catch_up()


@pytest.mark.parametrize("held", [False, True])
def test_replays_that_nobody_can_do_stop_everything_unless_a_cause_is_told(
    quiescence: Quiescence, held: bool
) -> None:
    quiescence._watchdog = Watchdog(seconds=10)
    state = QueryState.FAILED if held else QueryState.RUNNING
    query: Any = SimpleNamespace(state=state, root=None, input="x")
    quiescence.topology.queries["q"] = query
    quiescence.note_step(0.0)
    quiescence.note_step(9.0)
    if held:
        quiescence.note_step(10.0)
    else:
        with pytest.raises(StalledError):
            quiescence.note_step(10.0)


@pytest.mark.parametrize("error", [ZeroDivisionError("no"), RunError("no")], ids=repr)
def test_what_cannot_be_settled_ends_everything_and_is_told_to_who_comes_next(
    quiescence: Quiescence, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    monkeypatch.setattr(type(quiescence.topology), "is_replaying", lambda _: False)

    def finish(_: Future[object]) -> None:
        raise error

    quiescence.pool.submit("unit:a", lambda: None, finish)
    with pytest.raises(RunError, match="no"), quiescence.resting():
        raise AssertionError("nothing may be changed")
    for held in (quiescence.quiesced, quiescence.between_runs, quiescence.adding):
        with pytest.raises(RunError, match="no"), held():
            raise AssertionError("nothing may be changed")


# -- between holds -----------------------------------------------------------------------


@contextmanager
def stepping(quiescence: Quiescence, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bool]]:
    """Take steps in another thread, as the supervisor does; give which of them drained."""
    monkeypatch.setattr(type(quiescence.topology), "is_replaying", lambda _: False)
    drained: list[bool] = []
    over = threading.Event()

    def go() -> None:
        while not over.is_set():
            with quiescence.turn():
                quiescence.pool.settle()
                drained.append(quiescence.is_draining)
                if not quiescence.is_draining:
                    quiescence.note_step(time.monotonic())
                quiescence.pool.wait(0.001)

    thread = threading.Thread(target=go)
    quiescence.is_working = True
    thread.start()
    try:
        yield drained
    finally:
        over.set()
        thread.join()
        quiescence.is_working = False


def test_holds_back_to_back_leave_the_supervisor_its_turns(
    quiescence: Quiescence, monkeypatch: pytest.MonkeyPatch
) -> None:
    with stepping(quiescence, monkeypatch) as drained:
        for _ in range(20):
            with quiescence.resting():
                pass
        assert drained.count(False) >= 19


def test_brief_work_goes_on_while_a_hold_waits_for_a_long_run(
    quiescence: Quiescence, monkeypatch: pytest.MonkeyPatch
) -> None:
    go, held = threading.Event(), threading.Event()

    def hold() -> None:
        with quiescence.resting():
            held.set()

    with stepping(quiescence, monkeypatch) as drained:
        quiescence.pool.submit("unit:long", lambda: go.wait(LONG), lambda _: None)
        thread = threading.Thread(target=hold)
        thread.start()
        until = time.monotonic() + LONG
        while drained.count(True) < 10 and time.monotonic() < until:
            time.sleep(0.001)
        assert not held.is_set()
        go.set()
        thread.join()
    assert held.is_set()
    assert drained.count(True) >= 10


def test_a_hold_of_the_holder_and_of_the_supervisor_itself_waits_for_nobody(
    quiescence: Quiescence,
) -> None:
    quiescence.is_working = True  # and nobody takes a step
    with quiescence.turn(), quiescence.resting(), quiescence.resting():
        assert quiescence.pool.is_quiesced
