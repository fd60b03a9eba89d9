"""The topology: source readers, buffers, units and queries as they stand."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from penstock.engine.interfaces.pushed.push import Push
from penstock.engine.trains.buffers import BufferPool
from penstock.engine.trains.rows import Rows
from penstock.engine.workers.ledger import Ledger
from penstock.errors import PenstockError
from penstock.functions.flows.stages import Stages
from penstock.model.definitions import QueryState
from penstock.model.rules import Coupling
from penstock.model.trains import END_OF_TIME
from penstock.plan.operators import Operator, Scan, Take, key, walk
from penstock.plan.operators.graph import Graph
from penstock.plan.sharing.units import Unit
from penstock.runtime.durable.manifest import Checkpoint
from penstock.runtime.sources.archive import Archive
from penstock.runtime.sources.history import complete_from, history_of, lost_before
from penstock.runtime.sources.source_reader import SourceReader
from penstock.runtime.sources.table_versions import TableVersions
from penstock.runtime.work.live_query import LiveQuery
from penstock.runtime.work.live_rule import LiveTriggers
from penstock.runtime.work.live_unit import LiveUnit

StateListener = Callable[[str, QueryState, str], None]


@dataclass(slots=True)
class Topology:
    """What runs. `note_state` tells the catalog of a query's new state.

    `writers` are the units that write each root's trains. `apart` are roots that no bundle takes:
    they would stop the others; the graph `must_cut` anew when there are more of them. `dirty` are
    units that may have something to do, or no more, whatever their buffers say. `recut` are units
    that were made or cut anew since the last checkpoint; `gone` and `gone_streams` are what the
    journal must forget with the next one. `paused` are units that start no new run: nobody needs
    them but queries that are about to be suspended. `ledgers` tell what
    the sites of flows did that run no more. `checkpoint` is the last one.
    """

    buffers: BufferPool
    late_directory: Callable[[str], Path]
    note_state: StateListener
    source_readers: dict[str, SourceReader] = field(default_factory=dict)
    units: dict[str, LiveUnit] = field(default_factory=dict)
    writers: dict[str, LiveUnit] = field(default_factory=dict)
    unbundled: set[str] = field(default_factory=set)
    must_cut: bool = False
    queries: dict[str, LiveQuery] = field(default_factory=dict)
    finished: dict[str, LiveQuery] = field(default_factory=dict)
    suspended: dict[str, LiveQuery] = field(default_factory=dict)
    waiting: dict[str, LiveQuery] = field(default_factory=dict)
    archives: dict[str, Archive] = field(default_factory=dict)
    trigger_batches: dict[str, LiveTriggers] = field(default_factory=dict)
    tables: TableVersions | None = None
    dirty: set[str] = field(default_factory=set)
    recut: set[str] = field(default_factory=set)
    gone: set[str] = field(default_factory=set)
    gone_streams: set[str] = field(default_factory=set)
    paused: frozenset[str] = frozenset()
    ledgers: dict[str, tuple[Stages, Ledger]] = field(default_factory=dict)
    checkpoint: Checkpoint | None = None

    @property
    def graph(self) -> Graph:
        """Return the shared graph of the queries that are here, and of the events of rules."""
        rules = {each.title: each.event for each in list(self.trigger_batches.values())}
        return Graph(rules | {name: query.root for name, query in list(self.queries.items())})

    @property
    def outputs(self) -> set[str]:
        """Return the keys of the nodes whose trains leave the graph."""
        read = (each.input for each in list(self.trigger_batches.values()))
        return {*(query.input for query in list(self.queries.values())), *read}

    def gate(self, name: str) -> int | None:
        """Return the last train of a node that immediate rules are done with; None without any."""
        buffer = self.buffers.get(name)
        if not self.trigger_batches or buffer is None:
            return None
        places = [
            buffer.readers().get(each.reader, 0)
            for each in list(self.trigger_batches.values())
            if each.input == name and each.coupling is Coupling.IMMEDIATE
        ]
        return min(places, default=None)

    def set_apart(self, roots: set[str]) -> None:
        """Run these alone, from the next cut on."""
        self.unbundled |= roots
        self.must_cut = True

    def place(self, live: LiveUnit, name: str) -> int | None:
        """Return the last train of a buffer that a unit has read, None where it is not a reader."""
        buffer = self.buffers.get(name)
        return None if buffer is None else buffer.readers().get(live.reader)

    def history(self, scan: Scan, upto: int | None = None) -> list[Rows]:
        """Return what a stream still has of its trains up to a number, or of all; while quiesced.

        In order, each train once; without a number, just what a reader that registers now misses.
        """
        buffer, archive = self.buffers.open(key(scan), scan.schema), self.archives.get(key(scan))
        last = buffer.written if upto is None else upto
        return history_of(buffer, archive, last, self.buffers.spill)

    def history_from(self, scan: Scan) -> int | None:
        """Return the time (microseconds) from which on a stream's history is complete, or None."""
        buffer = self.buffers.open(key(scan), scan.schema)
        return complete_from(buffer, self.archives.get(key(scan)))

    def lost_before(self, scan: Scan) -> int | None:
        """Return the time (microseconds) before which a stream's tuples are gone, or None."""
        buffer = self.buffers.open(key(scan), scan.schema)
        return lost_before(buffer, self.archives.get(key(scan)))

    def set_state(self, query: LiveQuery, state: QueryState, cause: str) -> None:
        """Change a query's state, and let the catalog know."""
        if (query.state, query.cause) != (state, cause):
            query.state, query.cause = state, cause
            self.note_state(query.name, state, cause)

    def pause(self, names: Collection[str]) -> None:
        """Let units that only these queries need start no new run; those that others need go on."""
        mine = [query.input for name, query in self.queries.items() if name in names]
        read = [query.input for name, query in self.queries.items() if name not in names]
        read += [each.input for each in self.trigger_batches.values()]
        self.dirty |= self.paused
        self.paused = frozenset(self._units_below(mine) - self._units_below(read))

    def _units_below(self, roots: Iterable[str]) -> set[str]:
        """Return the units whose trains the answers of some roots are made of."""
        found: set[str] = set()
        waiting = list(roots)
        while waiting:
            live = self.writers.get(waiting.pop())
            if live is not None and live.unit.key not in found:
                found.add(live.unit.key)
                waiting += live.unit.inputs
        return found

    def fail_readers(self, unit: Unit, cause: str) -> None:
        """Hold the queries whose answers need a unit that cannot run."""
        queries = self.graph.queries_of()
        for name in {each for root in unit.roots for each in queries.get(key(root), ())}:
            if name in self.queries:
                self.set_state(self.queries[name], QueryState.FAILED, cause)

    def fail_subscriptions(self, error: PenstockError) -> None:
        """Tell subscribers that no more results come, and why."""
        held = (*self.queries.values(), *self.suspended.values(), *self.waiting.values())
        for each in [each for query in held for each in list(query.subscriptions)]:
            each.fail(error)

    def resume(self, query: LiveQuery) -> None:
        """Resume a held query and the units it needs."""
        self.mend(query.root)
        self.set_state(query, QueryState.RUNNING, "")

    def mend(self, root: Operator) -> None:
        """Resume the units that a node needs."""
        for node in walk(root):
            if live := self.writers.get(key(node)):
                live.cause = ""
                self.dirty.add(live.unit.key)
        self.unbundled.discard(key(root))

    def end_takes(self, query: LiveQuery) -> bool:
        """End the input of a query whose time is up; False while recorded runs must come first."""
        takes = [
            live
            for name, node in query.nodes.items()
            if isinstance(node, Take) and (live := self.units.get(name)) is not None
        ]
        if any(live.replay for live in takes):
            return False
        for live in takes:
            live.time_is_up = True
            self.dirty.add(live.unit.key)
        return True

    def retired(self) -> list[LiveQuery]:
        """Return the queries that have ended and still stand here."""
        return [q for q in list(self.queries.values()) if q.state is QueryState.FINISHED]

    def retire(self, query: LiveQuery) -> None:
        """Move an ended query aside; its figures stay."""
        query.close()
        query.rows_in, query.late_rows = self.rows_in(query), self.late_rows(query)
        name = query.name.lower()
        self.gone.add(query.reader)
        self.finished[name] = query  # first: who looks meanwhile finds it in one of them
        del self.queries[name]

    def rows_in(self, query: LiveQuery) -> int:
        """Return how many tuples of its streams a query has seen."""
        seen = sum(
            live.rows_in - live.rows_before.get(name, 0)
            for name, live in self.units_of(query).items()
            if any(isinstance(leaf, Scan) for leaf in live.unit.leaves)
        )
        if query.name.lower() not in self.queries:  # asked last: its units go after it
            return query.rows_in
        return query.meter.rows if isinstance(query.root, Scan) else seen

    def units_of(self, query: LiveQuery) -> dict[str, LiveUnit]:
        """Return the units whose trains a query's answer is made of, by the root it reads."""
        found: dict[str, LiveUnit] = {}
        waiting, writers = [query.input], self.writers  # of one cut, also where another follows
        while waiting:
            name = waiting.pop()
            if name not in found and (live := writers.get(name)) is not None:
                found[name] = live
                waiting += live.unit.inputs
        return found

    def late_rows(self, query: LiveQuery) -> int:
        """Return how many tuples came too late for a query's windows."""
        units = self.units_of(query).values()
        counts = {id(unit): unit.late_rows for unit in units}.values()
        late = sum(count.get(judge, 0) for count in counts for judge in query.judges)
        return late if query.name.lower() in self.queries else query.late_rows

    def find_query(self, name: str) -> LiveQuery | None:
        """Return a query that runs, is suspended, or waits to be let in."""
        held = {**self.waiting, **self.suspended}
        return self.queries.get(name.lower()) or held.get(name.lower())

    def is_drained(self) -> bool:
        """Say whether every source has ended and everything that can be done is done."""
        if self.suspended or self.waiting:  # they come when there is room
            return False
        for source_reader in list(self.source_readers.values()):
            buffer = self.buffers.get(source_reader.key)
            over = (
                source_reader.ended or source_reader.given_up or self.waits_for_rules(source_reader)
            )
            if buffer is not None and buffer.readers() and not over:
                return False
        units, queries = list(self.units.values()), list(self.queries.values())
        if any((live.must_end or live.history) and not live.cause for live in units):
            return False
        if any(map(self.is_over, queries)):
            return False
        active = self.active_readers()
        late = (reader for buffer in self.buffers.waited_for() for reader in buffer.behind())
        return not any(reader in active for reader in late)

    def waits_for_rules(self, source_reader: SourceReader) -> bool:
        """Say whether all of a stream is read that rules add to: it ends when all others have."""
        trigger_batches = list(self.trigger_batches.values())
        rules = [rule for each in trigger_batches for rule in list(each.rules.values())]
        added_to = any(
            source_reader.definition.name.lower() in rule.definition.targets for rule in rules
        )
        # In this order: what the source has no more may be on its way and not yet begun to be read.
        is_read = isinstance(source_reader.interface, Push) and not source_reader.interface.waits
        return added_to and is_read and not source_reader.cutting

    def is_over(self, query: LiveQuery) -> bool:
        """Say whether a running query has read everything that will ever come."""
        buffer = self.buffers.get(query.input)
        if buffer is None or query.state is not QueryState.RUNNING or query.replay:
            return False
        return buffer.watermark == END_OF_TIME and not buffer.waiting(query.reader)

    def is_replaying(self) -> bool:
        """Say whether recorded runs wait to be done again; those that are held do not count."""
        units = (live.replay for live in list(self.units.values()) if not live.cause)
        running = (q for q in list(self.queries.values()) if q.state is QueryState.RUNNING)
        rules = (each.replay for each in list(self.trigger_batches.values()))
        return any(units) or any(query.replay for query in running) or any(rules)

    def is_held(self) -> bool:
        """Say whether a unit, a query or a source is held, with a cause that users are told."""
        units, source_readers = list(self.units.values()), list(self.source_readers.values())
        failed = (q.state is QueryState.FAILED for q in list(self.queries.values()))
        return any(u.cause for u in units) or any(f.cause for f in source_readers) or any(failed)

    def active_readers(self) -> set[str]:
        """Return the units, queries, archives and readers for rules that are not held."""
        archives = {each.reader for each in list(self.archives.values()) if not each.given_up}
        active = {live.reader for live in list(self.units.values()) if not live.cause}
        running = [q for q in list(self.queries.values()) if q.state is QueryState.RUNNING]
        rules = {each.reader for each in list(self.trigger_batches.values())}
        return archives | active | rules | {query.reader for query in running}
