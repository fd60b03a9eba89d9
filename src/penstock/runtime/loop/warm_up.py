"""Warm-up: units run over made-up rows before the sources open that wait for nobody.

A source that plays by a clock of its own (a generator, a recording) begins when it is first read,
so it can begin a little later, and its first rows do not wait for a cold Spark. All others begin at
once: their rows are there already (docs/decisions/0051).
"""

import logging
import math
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial

from penstock.engine.interfaces.interface import SelfPaced
from penstock.engine.spark.application.spark_life import refuse_dead
from penstock.engine.spark.jobs.processor import Processor
from penstock.engine.states.rehearsal import can_rehearse, rehearse
from penstock.errors import describe
from penstock.plan.operators import key
from penstock.runtime.sources.source_reader import SourceReader
from penstock.runtime.topology.topology import Topology
from penstock.runtime.work.live_unit import READER, LiveUnit
from penstock.runtime.work.worker_pool import Workers

LOG = logging.getLogger("penstock")


@dataclass(slots=True)
class WarmUp:
    """Rehearses the units behind sources that have yet to begin, for `seconds` at most.

    Each unit by each of the `processors`, all by the first one before any by the second. Sources
    that wait begin together, so that their times agree. Only the supervisor's thread touches it.
    """

    topology: Topology
    pool: Workers
    processors: Sequence[Processor]
    seconds: float
    _until: dict[str, float] = field(default_factory=dict)  # by stream
    _done: set[tuple[str, int]] = field(default_factory=set)
    _at_work: set[str] = field(default_factory=set)  # units
    _is_over: bool = True  # as of the last start

    def start(self, now: float) -> None:
        """Start the rehearsals that are due, as many as there are free slots."""
        due = self._due(now)
        self._is_over = not (due or self._at_work)
        for live, place in due:
            if self.pool.free_slots > 0 and not self.pool.is_busy(live.reader):
                self._done.add((live.unit.key, place))
                self._at_work.add(live.unit.key)
                work = partial(_rehearse, self.processors[place], live)
                self.pool.submit(live.reader, work, partial(self._settle, live))

    def holds(self, source_reader: SourceReader, now: float) -> bool:
        """Say whether a source shall begin later, since not all is warm yet."""
        is_in_time = now < self._until.get(source_reader.key, -math.inf)
        return is_in_time and source_reader.is_new and not self._is_over

    def _due(self, now: float) -> list[tuple[LiveUnit, int]]:
        """Return what is to be rehearsed, for few rows before for many."""
        found: dict[tuple[int, str], LiveUnit] = {}
        for source_reader in self.topology.source_readers.values():
            stream = source_reader.key
            behind = self._behind(stream) if _has_yet_to_begin(source_reader) else []
            if behind and now < self._until.setdefault(stream, now + self.seconds):
                found |= {(place, live.unit.key): live for live, place in self._left(behind)}
        return [(found[place, name], place) for place, name in sorted(found)]

    def _left(self, units: Sequence[LiveUnit]) -> Iterator[tuple[LiveUnit, int]]:
        return (
            (live, place)
            for live in units
            for place in range(len(self.processors))
            if (live.unit.key, place) not in self._done and can_rehearse(live.unit)
        )

    def _behind(self, stream: str) -> list[LiveUnit]:
        """Return the units that a stream's tuples come to."""
        found: dict[str, LiveUnit] = {}
        waiting = [stream]
        while waiting:
            buffer = self.topology.buffers.get(waiting.pop())
            readers = buffer.readers() if buffer is not None else ()
            names = {each.removeprefix(READER) for each in readers} - found.keys()
            reached = {
                each: self.topology.units[each] for each in names & self.topology.units.keys()
            }
            found |= reached
            waiting += [key(root) for live in reached.values() for root in live.unit.roots]
        return list(found.values())

    def _settle(self, live: LiveUnit, future: Future[object]) -> None:
        self._at_work.discard(live.unit.key)
        self.topology.dirty.add(live.unit.key)
        if (cause := future.result()) is not None:
            LOG.debug("no rehearsal of unit %s: %s", live.unit.key, cause)


def _rehearse(processor: Processor, live: LiveUnit) -> str | None:
    """Rehearse a unit; return why it could not be done, as of conditions that made-up rows fail."""
    try:
        rehearse(processor, live.unit)
    except Exception as error:
        refuse_dead(error)
        return describe(error)
    return None


def _has_yet_to_begin(source_reader: SourceReader) -> bool:
    interface = source_reader.interface
    return source_reader.is_new and isinstance(interface, SelfPaced) and interface.is_paced
