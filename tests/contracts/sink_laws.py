"""The laws of repeatable sinks as functions: every one must keep them all.

A sink is killed in a process of its own, at lines of its code that are counted first: the journal
has then noted every delivery whose `write` came back, and the rest comes again.
"""

import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from types import FrameType
from typing import Any

import pyarrow as pa

from penstock.engine import connectors
from penstock.engine.allowed import Allowed
from penstock.engine.connectors.sinks import build
from penstock.engine.sinks.sink import Delivery, Sink, SinkSurroundings
from penstock.model.definitions import QueryDefinition

DELIVERIES = tuple(
    pa.table(
        {
            "car": [f"car{number}-{at}" for at in range(3)],
            "mph": pa.array([number * 10 + at for at in range(3)], pa.int32()),
        }
    )
    for number in range(1, 5)
)
ENGINE = str(Path(connectors.__file__).parents[1])
NOTHING = Allowed()
PATIENCE = 60  # seconds for a process that writes four deliveries
SPAWNED = get_context("spawn")


@dataclass(frozen=True)
class SinkCase:
    """A sink of SQL, and what somebody who reads its place sees: all rows, in an order.

    `place` makes a place that nothing was written to, by its number.
    """

    definition: Callable[[int], QueryDefinition]
    look: Callable[[int], Any]
    allowed: Allowed = NOTHING
    most_kills: int = 40  # of the lines of the sink's code, spread evenly


@dataclass(frozen=True)
class Writing:
    """What a process of its own writes, and where it dies: at so many lines, 0 for never."""

    definition: QueryDefinition
    allowed: Allowed
    first: int
    last_line: int
    told: Path

    def __call__(self) -> None:
        """Write the deliveries from `first` on, and note each that came back."""
        lines = 0

        def count(frame: FrameType, event: str, _: object) -> Any:
            nonlocal lines
            if not frame.f_code.co_filename.startswith(ENGINE):
                return None
            lines += event == "line"
            if lines == self.last_line and lines:
                os.kill(os.getpid(), signal.SIGKILL)
            return count

        sink = _made(self.definition, self.allowed)
        with self.told.open("a") as told:
            sys.settrace(count)
            sink.open()
            for number in range(self.first, len(DELIVERIES) + 1):
                sink.write(Delivery(self.definition.name, number, DELIVERIES[number - 1]))
                told.write(f"{number}\n")
                told.flush()
            sink.close()
            sys.settrace(None)
            told.write(f"lines {lines}\n")


def _made(definition: QueryDefinition, allowed: Allowed) -> Sink:
    sink = build(definition, SinkSurroundings(lambda: "home", lambda: allowed))
    assert sink is not None
    assert sink.repeatable
    return sink


def _fork(orders: Connection) -> None:
    """Do each order in a fork of this process, which has loaded everything and no threads."""
    while True:
        try:
            writing = orders.recv()
        except EOFError:
            return
        if (child := os.fork()) == 0:
            signal.alarm(PATIENCE)
            code = 1
            try:
                writing()
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(code)
        _, status = os.waitpid(child, 0)
        orders.send(os.waitstatus_to_exitcode(status))


@contextmanager
def _forks() -> Iterator[Callable[[Writing], int]]:
    """Give what does a writing in a process of its own and returns how that ended."""
    here, there = SPAWNED.Pipe()
    process = SPAWNED.Process(target=_fork, args=(there,))
    process.start()
    there.close()

    def run(writing: Writing) -> int:
        here.send(writing)
        return int(here.recv())

    try:
        yield run
    finally:
        here.close()
        process.join()


def undisturbed(run: Callable[[Writing], int], case: SinkCase, told: Path) -> int:
    """Write everything at place 0, and return how many lines of code that took."""
    assert run(Writing(case.definition(0), case.allowed, 1, 0, told)) == 0
    return int(told.read_text().splitlines()[-1].removeprefix("lines "))


def the_same_number_again_changes_nothing(case: SinkCase, tmp_path: Path) -> None:
    with _forks() as run:
        undisturbed(run, case, tmp_path / "told")
        once = case.look(0)
        assert once
        for first in (4, 3, 1):
            again = Writing(case.definition(0), case.allowed, first, 0, tmp_path / "again")
            assert run(again) == 0
            assert case.look(0) == once


def a_kill_at_every_point_leaves_every_row_once(case: SinkCase, tmp_path: Path) -> None:
    with _forks() as run:
        lines = undisturbed(run, case, tmp_path / "told")
        once = case.look(0)
        kills = min(lines, case.most_kills)
        for place in range(1, kills + 1):
            told = tmp_path / f"told-{place}"
            told.touch()
            dying = Writing(case.definition(place), case.allowed, 1, place * lines // kills, told)
            assert run(dying) == -signal.SIGKILL
            back = len(told.read_text().splitlines())
            # Both what the journal may have noted last, and what it had not come to note.
            again = Writing(case.definition(place), case.allowed, max(1, back), 0, told)
            assert run(again) == 0
            assert case.look(place) == once, f"killed at line {dying.last_line} of {lines}"


SINK_LAWS: tuple[Callable[[SinkCase, Path], None], ...] = (
    the_same_number_again_changes_nothing,
    a_kill_at_every_point_leaves_every_row_once,
)
