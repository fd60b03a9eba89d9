"""A small topology without Spark: real feeds, buffers, turns, deliveries and journal.

The source follows a script, units hand their rows on as they are, and the worker pool works at
once. It can die: between two things, with work recorded and not begun, or done and not settled.
"""

import shutil
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.clock import HandClock
from penstock.engine.sinks.memory import MemorySink
from penstock.engine.spark.jobs.processor import LARGE, LARGE_STATES, Processor
from penstock.engine.trains.buffers import KEEP_TRAINS, BufferBounds, BufferPool
from penstock.engine.trains.rows import Rows, empty_table, write_parquet_at
from penstock.engine.trains.train_files import LargeBound, Outlook, written_by
from penstock.errors import RunError
from penstock.model.definitions import Connector, QueryDefinition, QueryState, StreamDefinition
from penstock.model.schema import Column, Schema
from penstock.plan.operators import EventTime, Filter, Operator, Scan, key
from penstock.plan.operators.gate import ALL, ERROR, KEPT, ROWS, SHED
from penstock.plan.sharing.units import Unit, cut_at_shared
from penstock.runtime.durable.journal_memory import MemoryJournal
from penstock.runtime.durable.manifest import Manifest
from penstock.runtime.durable.result_index import ResultIndex
from penstock.runtime.durable.results import ResultLog
from penstock.runtime.loop.archiver import Archiving
from penstock.runtime.loop.deliveries import Deliveries
from penstock.runtime.loop.dispatch.dispatcher import Dispatcher
from penstock.runtime.loop.source_poller import SourcePoller
from penstock.runtime.quality.quality import Quality
from penstock.runtime.quality.shedding_controller import SheddingController
from penstock.runtime.quality.statistics import Statistics
from penstock.runtime.sources.archive import MERGE_FILES, Archive
from penstock.runtime.sources.source_reader import SourceReader
from penstock.runtime.topology.checkpoint import write_addition, write_checkpoint
from penstock.runtime.topology.connection import connect
from penstock.runtime.topology.placement import placement_of
from penstock.runtime.topology.read_ahead import ReadAhead
from penstock.runtime.topology.restoration import (
    checked,
    knows,
    put_back,
)
from penstock.runtime.topology.topology import Topology
from penstock.runtime.work.live_query import LiveQuery
from penstock.runtime.work.run_limits import RunLimits
from penstock.runtime.work.worker_pool import Finish, Workers
from penstock.schedule import RoundRobin
from tests.unit.model.scripted import END, ScriptedSource

SCHEMA = Schema((Column("ts", "timestamp"), Column("n", "bigint")))


class DeathError(BaseException):
    """The process is gone."""


@dataclass
class SyncPool(Workers):
    """Does at once what it is given; `dies` says where it will stop doing so."""

    dies: str = ""
    submitted: list[str] = field(default_factory=list)

    @property
    def free_slots(self) -> int:
        return 2

    @property
    def is_quiesced(self) -> bool:
        return True

    def is_busy(self, name: str) -> bool:
        return False

    def submit(
        self, name: str, work: Callable[[], object], finish: Finish, along: Collection[str] = ()
    ) -> None:
        self.submitted.append(name)
        if self.dies == "before":
            raise DeathError
        future: Future[object] = Future()
        try:
            future.set_result(work())
        except Exception as error:
            future.set_exception(error)
        if self.dies == "after":
            raise DeathError
        finish(future)

    def do_here(self, work: Callable[[], object], finish: Finish) -> None:
        self.submit("here", work, finish)

    def ask_again(self) -> None:
        """Go on: who drains asks until nothing is left."""


class TwinProcessor(Processor):
    """Hands the rows of its inputs on, one input after the other.

    Where the unit says what came through gates, so do its rows.
    """

    slots = 2

    def __init__(self, spill: Path, large: LargeBound = LARGE) -> None:
        self.spill, self.large, self.large_states = spill, large, LARGE_STATES
        self.fails: set[str] = set()
        self.runs: list[tuple[str, list[int]]] = []

    def train(
        self, unit: Unit, inputs: Mapping[str, Sequence[Rows]], outlook: Outlook
    ) -> pa.Table | Rows:
        whole = self.flow(unit, inputs)
        if not self.is_large(outlook, unit.root.schema) or not whole.num_rows:
            return whole

        def write(job: Path) -> None:
            half = (whole.num_rows + 1) // 2
            for task, part in enumerate((whole.slice(0, half), whole.slice(half))):
                write_parquet_at(part, job / f"part-{task:05d}.parquet")

        return written_by(write, self.spill, outlook.name, unit.root.schema, self.large.rows)

    def flow(self, unit: Unit, inputs: Mapping[str, Sequence[Rows]]) -> pa.Table:
        if unit.key in self.fails:
            raise RunError("the twin was told to fail")
        schemas = {key(leaf): leaf.schema for leaf in unit.leaves}
        tables = [rows.to_table(schemas[name]) for name in unit.inputs for rows in inputs[name]]
        bare = [each.select(SCHEMA.names) for each in tables]
        whole = pa.concat_tables([empty_table(SCHEMA), *bare])
        self.runs.append((unit.key, whole["n"].to_pylist()))
        if SHED not in unit.root.schema.names:
            return whole
        kept = [each[KEPT].to_numpy() / ALL for each in tables]
        share = pa.array(1 - np.concatenate([np.empty(0), *kept]))
        ones = pa.array(np.ones(whole.num_rows, dtype=np.int64))
        for name, values in ((ERROR, share), (SHED, share), (ROWS, ones)):
            whole = whole.append_column(name, values)
        return pa.concat_tables([empty_table(unit.root.schema), whole])


def scan(name: str) -> Scan:
    return Scan(name, 1, SCHEMA, (EventTime("ts"),))


def chain(stream: str, labels: str) -> Operator:
    """Return filters over a stream, one for each letter; chains share their common beginning."""
    node: Operator = scan(stream)
    for label in labels:
        node = Filter(node, (f"{label} = {label}",))
    return node


def table(numbers: Sequence[int]) -> pa.Table:
    """Return rows whose times are their numbers."""
    times = pa.array(numbers, pa.timestamp("us", "UTC"))
    return pa.table({"ts": times, "n": pa.array(numbers, pa.int64())})


class Hall:
    """A topology with everything around it; what survives a death is kept by itself."""

    def __init__(
        self,
        home: Path,
        streams: Sequence[str] = ("s",),
        bounds: BufferBounds | None = None,
        clauses: Mapping[str, Any] | None = None,
        *,
        limits: RunLimits | None = None,
        read_ahead: ReadAhead | None = None,
        merge_files: int = MERGE_FILES,
    ) -> None:
        """`clauses` are further fields of every stream's definition, such as `archive_for`."""
        self.home, self.bounds, self.clauses = home, bounds or BufferBounds(), dict(clauses or {})
        self.limits, self.read_ahead = limits or RunLimits(), read_ahead or ReadAhead()
        self.merge_files = merge_files
        (home / "state").mkdir(parents=True)
        self.journal = MemoryJournal()
        self.scripts: dict[str, ScriptedSource] = {name: ScriptedSource([]) for name in streams}
        self.roots: dict[str, Operator] = {}
        self.states: dict[str, QueryState] = {}
        self.sinks: dict[str, MemorySink] = {}
        self.clock = HandClock()
        self.pushed: dict[str, list[int]] = {name: [] for name in streams}
        self._open()

    def _open(self, *, older: bool = False) -> None:
        """Start a process: with nothing, or with what the last one left.

        `older` goes back to the checkpoint before the last one, where there is one.
        """
        self.pool = SyncPool()
        self.result_index = ResultIndex(self.home / "shelf.db")
        spill = self.home / "spill"
        shutil.rmtree(spill, ignore_errors=True)  # as a home does when it is opened
        large = LargeBound(self.limits.large_rows, self.limits.large_bytes)
        self.processor = TwinProcessor(spill, large)
        self.topology = Topology(BufferPool(spill, self.bounds), self._late, self._note)
        parts = (self.topology, self.pool, self.journal, self.clock)
        self.source_poller = SourcePoller(*parts, read_ahead=self.read_ahead)
        self.dispatcher = Dispatcher(*parts, self.processor, RoundRobin(), limits=self.limits)
        self.deliveries = Deliveries(*parts, self.limits)
        self.archiving = Archiving(self.topology, self.pool, self.clock)
        for name in self.scripts:
            self._open_stream(name)
        numbers = self.journal.checkpoints()
        state = self.home / "state"
        found = checked(self.journal, numbers[-1 if older else 0], state) if numbers else (None, [])
        checkpoint = found[0]
        manifest = checkpoint.manifest if checkpoint else Manifest()
        self.topology.checkpoint = checkpoint
        wanted = [n for n in self.roots if self.states[n] is not QueryState.FINISHED]
        newcomers = [n for n in wanted if not knows(manifest, n, self.roots[n])]
        for name in wanted:
            if name not in newcomers:
                self._run(name, self.roots[name])
        put_back(
            self.topology,
            manifest,
            self.journal,
            self.home / "state",
            lambda placement: self.reconnect(placement.units),
            self.clock.now(),
        )
        if newcomers:
            self.catch_up()
            for name in newcomers:
                self._run(name, self.roots[name])
            self.reconnect()
            self.checkpoint()

    def _open_stream(self, name: str) -> None:
        definition = StreamDefinition(name, SCHEMA, Connector("twin"), "ts", **self.clauses)
        again = ScriptedSource(self.scripts[name].script)
        self.scripts[name] = again
        source_reader = SourceReader(scan(name), definition, again, self.home / "rejects")
        self.topology.source_readers[source_reader.key] = source_reader
        buffer = self.topology.buffers.open(source_reader.key, SCHEMA, keep=KEEP_TRAINS)
        if definition.archive_for is not None:
            archive = Archive(
                source_reader.key, definition, self.home / "archive" / name, self.merge_files
            )
            self.topology.archives[source_reader.key] = archive
            buffer.register(archive.reader)

    # -- what a user does ------------------------------------------------------------------

    def push(self, stream: str, *numbers: int) -> None:
        self.scripts[stream].script.append(table(numbers))
        self.pushed[stream] += numbers

    def end(self, stream: str) -> None:
        self.scripts[stream].script.append(END)

    def add(self, name: str, root: Operator) -> LiveQuery:
        self.catch_up()
        self.remember(name, root)
        query = self._run(name, root)
        self.reconnect()
        if not write_addition(self.topology, self.journal, self.home / "state"):
            self.checkpoint()
        return query

    def remember(self, name: str, root: Operator) -> None:
        """Put a query into the catalog, and do no more."""
        self.roots[name], self.states[name] = root, QueryState.RUNNING
        self.sinks[name] = MemorySink()

    def drop(self, name: str) -> None:
        self.catch_up()
        del self.roots[name]
        query = self.topology.queries.pop(name, None)
        if query is not None:
            self.topology.gone.add(query.reader)
        self.reconnect()
        self.checkpoint()

    def delivered(self, name: str) -> list[int]:
        """Return what a query's sink has, delivery after delivery."""
        held = self.sinks[name].deliveries
        return [n for number in sorted(held) for n in held[number]["n"].to_pylist()]

    # -- what the supervisor does ----------------------------------------------------------

    def take_in(self) -> None:
        self.source_poller.start(self.clock.now())

    def turn(self) -> None:
        self.dispatcher.start(self.clock.now())

    def deliver(self) -> None:
        self.deliveries.start()
        if ended := self.topology.retired():
            for query in ended:
                self.topology.retire(query)
            self.reconnect()
            self.checkpoint()

    def put_away(self) -> None:
        self.archiving.start(self.clock.now())

    def do(self, action: str) -> None:
        """Do one of the things that happen by themselves."""
        {
            "take in": self.take_in,
            "turn": self.turn,
            "deliver": self.deliver,
            "die": self.die,
            "checkpoint": self.checkpoint,
        }[action]()

    def step(self) -> bool:
        """Start all that can be started; say whether anything could."""
        before = len(self.pool.submitted)
        self.deliver()
        self.turn()
        self.put_away()
        self.take_in()
        return len(self.pool.submitted) > before

    def catch_up(self) -> None:
        """Do recorded runs again, as far as that goes: no replay crosses a change."""
        while self.topology.is_replaying() and self.step():
            pass

    def drain(self) -> None:
        """Work until nothing is left to do."""
        for _ in range(500):
            self.clock.sleep(2)
            if not self.step():
                return
        raise AssertionError("it never comes to rest")

    def checkpoint(self) -> None:
        write_checkpoint(self.topology, self.journal, self.home / "state")

    def reconnect(self, placement: Collection[str] = ()) -> None:
        topology = self.topology
        connect(
            topology, cut_at_shared(topology.graph, {*placement_of(topology).units, *placement})
        )

    def die(self, *, older: bool = False) -> None:
        """Lose everything that was only in memory, and start again; `older`: see `_open`."""
        self._open(older=older)

    def unit(self, root: Operator) -> Unit:
        return self.topology.units[key(root)].unit

    def _run(self, name: str, root: Operator) -> LiveQuery:
        log = ResultLog(self.home / "results" / name, name, self.result_index)
        query = LiveQuery(QueryDefinition(name, ""), root, log, [self.sinks[name]])
        query.state = self.states[name]
        query.delivered = self.journal.last_delivery(query.reader)
        self.topology.finished.pop(name, None)
        self.topology.queries[name] = query
        return query

    def _late(self, name: str) -> Path:
        return self.home / "late" / name

    def _note(self, name: str, state: QueryState, _: str) -> None:
        self.states[name] = state


def quality_of(hall: Hall, statistics: Statistics) -> Quality:
    """Return what looks at a hall's load, with figures that a test has made up."""
    return Quality(
        hall.topology, statistics, SheddingController(hall.topology, statistics), slots=1
    )
