"""The plant: feeds, buffers, units and queries as they stand, and how a change re-connects them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from penstock.engine.buffers import BufferPool
from penstock.engine.interfaces.push import Push
from penstock.engine.rows import Rows
from penstock.engine.sites.ledger import Ledger
from penstock.engine.states import State, Together, new_state, new_together
from penstock.engine.states.sites import SitesState
from penstock.functions.stages import Stages
from penstock.model.definitions import QueryState
from penstock.model.rules import Coupling
from penstock.model.trains import BEGIN_OF_TIME, END_OF_TIME
from penstock.plan.bundles.member import Asking, Member
from penstock.plan.graph import Graph
from penstock.plan.lateness import judges
from penstock.plan.operators import Bundle, EventBundle, Operator, Ordered, Scan, Take, key, walk
from penstock.plan.units import Unit
from penstock.runtime.archive import Archive
from penstock.runtime.counting import go_on_counting
from penstock.runtime.feed import Feed
from penstock.runtime.history import complete_from, history_of, lost_before
from penstock.runtime.live_query import LiveQuery
from penstock.runtime.live_rule import LiveOccasions
from penstock.runtime.live_unit import LiveUnit
from penstock.runtime.table_versions import TableVersions

Place = tuple[int, int, bool]  # the last train read, the watermark after it, and if it was idle
StateListener = Callable[[str, QueryState, str], None]


@dataclass(slots=True)
class Plant:
    """What runs. `note_state` tells the catalog of a query's new state.

    `writers` are the units that write each root's trains. `apart` are roots that no bundle takes:
    they would stop the others; the graph `must_cut` anew when there are more of them. `stirred` are
    units that may have something to do, or no more, whatever their buffers say. `gone` and
    `gone_streams` are what the journal must forget with the next checkpoint. `ledgers` tell what
    the sites of flows did that run no more.
    """

    buffers: BufferPool
    late_directory: Callable[[str], Path]
    note_state: StateListener
    feeds: dict[str, Feed] = field(default_factory=dict)
    units: dict[str, LiveUnit] = field(default_factory=dict)
    writers: dict[str, LiveUnit] = field(default_factory=dict)
    apart: set[str] = field(default_factory=set)
    must_cut: bool = False
    queries: dict[str, LiveQuery] = field(default_factory=dict)
    finished: dict[str, LiveQuery] = field(default_factory=dict)
    suspended: dict[str, LiveQuery] = field(default_factory=dict)
    waiting: dict[str, LiveQuery] = field(default_factory=dict)
    archives: dict[str, Archive] = field(default_factory=dict)
    occasions: dict[str, LiveOccasions] = field(default_factory=dict)
    tables: TableVersions | None = None
    stirred: set[str] = field(default_factory=set)
    gone: set[str] = field(default_factory=set)
    gone_streams: set[str] = field(default_factory=set)
    ledgers: dict[str, tuple[Stages, Ledger]] = field(default_factory=dict)

    @property
    def graph(self) -> Graph:
        """Return the shared graph of the queries that are here, and of the events of rules."""
        rules = {each.title: each.event for each in list(self.occasions.values())}
        return Graph(rules | {name: query.root for name, query in list(self.queries.items())})

    @property
    def outputs(self) -> set[str]:
        """Return the keys of the nodes whose trains leave the graph."""
        read = (each.input for each in list(self.occasions.values()))
        return {*(query.input for query in list(self.queries.values())), *read}

    def gate(self, name: str) -> int | None:
        """Return the last train of a node that immediate rules are done with; None without any."""
        buffer = self.buffers.get(name)
        if not self.occasions or buffer is None:
            return None
        places = [
            buffer.readers().get(each.reader, 0)
            for each in list(self.occasions.values())
            if each.input == name and each.coupling is Coupling.IMMEDIATE
        ]
        return min(places, default=None)

    def set_apart(self, roots: set[str]) -> None:
        """Let these run alone from the next cut on."""
        self.apart |= roots
        self.must_cut = True

    def place(self, live: LiveUnit, name: str) -> int | None:
        """Return the last train of a buffer that a unit has read, None where it is not a reader."""
        buffer = self.buffers.get(name)
        return None if buffer is None else buffer.readers().get(live.reader)

    def connect(self, units: Sequence[Unit]) -> None:
        """Make these the units: states and places go over to them, new ones begin now."""
        old = dict(self.units)
        states = {
            key(live.unit.stateful): live
            for live in old.values()
            if live.unit.stateful is not None and live.state is not None
        }
        places = _places(old.values(), self.buffers)
        # Those that leave a bundle take their share along before the bundle is another.
        alone = [unit for unit in units if unit.bundle is None]
        together = [unit for unit in units if unit.bundle is not None]
        self.units = {unit.key: self._live(unit, old.get(unit.key), states) for unit in alone}
        for unit in together:
            self.units[unit.key] = self._live_bundle(unit, old)
        self.must_cut = False
        self.stirred |= old.keys() | self.units.keys()
        self.apart &= self.outputs
        self.writers = {key(root): live for live in self.units.values() for root in live.unit.roots}
        for name, live in self.units.items():
            if live is not old.get(name):
                self._register(live, places)
        go_on_counting(self.units.values(), old)
        for query in self.queries.values():
            self.buffers.open(query.input, query.root.schema).register(query.reader)
        for each in self.occasions.values():
            self.buffers.open(each.input, each.event.schema).register(each.reader)
        left = [live for name, live in old.items() if name not in self.units]
        self.gone |= {live.reader for live in left}
        self.ledgers |= {
            key(live.state.operator): (live.state.stages, live.state.ledger)
            for live in left
            if isinstance(live.state, SitesState)
        }
        self._unregister_gone()

    def _live(self, unit: Unit, old: LiveUnit | None, states: Mapping[str, LiveUnit]) -> LiveUnit:
        if old is not None and old.unit == unit:
            return old
        live = LiveUnit(unit, self.late_directory)
        if old is not None:  # the same root over other leaves
            live.runs, live.taken = old.runs, old.taken
            live.rows_in, live.rows_out = old.rows_in, old.rows_out
            live.time_is_up, live.ended = old.time_is_up, old.ended
        if unit.stateful is not None:
            same = old is not None and old.unit.stateful == unit.stateful
            if (begun := old if same else states.get(key(unit.stateful))) is not None:
                live.state, live.late_rows = begun.state, begun.late_rows
                live.history, live.reached = begun.history, begun.reached
            elif (left := self._left(unit.stateful)) is not None:
                self._leave(live, *left)
            else:
                live.state = self._new_state(unit.stateful)
                live.wants_history = getattr(unit.stateful, "reads_history", False)
        elif (output := self.buffers.get(unit.key)) is not None and output.written:
            live.reached = (output.watermark,)
            if old is None and (bundle := self.writers.get(unit.key)) is not None:
                live.rows_in = bundle.rows_in - bundle.rows_before.get(unit.key, 0)
        return live

    def _left(self, stateful: Operator) -> tuple[LiveUnit, Asking] | None:
        """Return the bundle that kept an operator's state, and the member it was kept for.

        Of several with the same windows, the one that has been there for longest.
        """
        found: list[tuple[LiveUnit, Asking]] = [
            (live, member)
            for live in self.units.values()
            if isinstance(live.unit.bundle, Bundle | EventBundle)
            for member in live.unit.bundle.members
            if _judge(member) == key(stateful)
        ]
        return min(found, key=lambda each: each[0].rows_before.get(each[1].key, 0), default=None)

    def _leave(self, live: LiveUnit, bundle: LiveUnit, member: Asking) -> None:
        """Let a unit go on alone with what its bundle kept for a member."""
        assert isinstance(bundle.state, Together)  # noqa: S101  (a bundle's is)
        live.state, live.reached = bundle.state.take_out(member), bundle.reached
        judge = _judge(member)
        live.late_rows = {judge: bundle.late_rows.get(judge, 0)}
        live.rows_in = bundle.rows_in - bundle.rows_before.get(member.key, 0)

    def _live_bundle(self, unit: Unit, old: Mapping[str, LiveUnit]) -> LiveUnit:
        """Return a bundle's unit with its members as they are now."""
        bundle, before = unit.bundle, old.get(unit.key)
        assert bundle is not None  # noqa: S101  (the caller looked)
        live = LiveUnit(unit, self.late_directory)
        state = before.state if before is not None else None
        if not isinstance(state, Together):
            state = new_together(bundle)
        if before is not None:
            if before.unit == unit and before.unit.lots == unit.lots:
                return before
            live.runs, live.rows_in, live.rows_out = before.runs, before.rows_in, before.rows_out
            stayed = {key(root) for root in before.unit.roots}  # who left comes back as new
            live.rows_before = {n: rows for n, rows in before.rows_before.items() if n in stayed}
            live.late_rows = before.late_rows
            live.marks, live.idle, live.reached = before.marks, before.idle, before.reached
            live.replay, live.busy_seconds = before.replay, before.busy_seconds
        live.state = state
        for member in bundle.members:
            self._join(live, state, member, old.get(member.key))
        state.rearranged(bundle, self._begin(bundle))
        return live

    def _join(
        self, live: LiveUnit, state: Together, member: Asking, alone: LiveUnit | None
    ) -> None:
        if member.key in live.rows_before:
            return
        live.rows_before[member.key] = live.rows_in
        if alone is not None and alone.unit.bundle is None:
            if not isinstance(alone.state, Together):
                state.take_in(member, alone.state)
            live.reached = alone.reached
            live.late_rows |= alone.late_rows
            live.rows_before[member.key] -= alone.rows_in

    def _give_history(self, live: LiveUnit) -> None:
        """Let the first run of a new unit begin with what the streams had before it."""
        live.wants_history = False
        for leaf in live.unit.leaves:
            buffer = self.buffers.get(key(leaf))
            if isinstance(leaf, Scan) and buffer is not None:
                rows = self.history(leaf, buffer.readers()[live.reader])
                if rows:
                    live.history[key(leaf)] = rows

    def history(self, scan: Scan, upto: int | None = None) -> list[Rows]:
        """Return what a stream still has of its trains up to a number, or of all; only at rest.

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

    def _new_state(self, operator: Operator) -> State:
        """Return the state of an operator that sees everything only from now on, or all."""
        if getattr(operator, "reads_history", False):
            return new_state(operator, BEGIN_OF_TIME)
        return new_state(operator, self._begin(operator))

    def _begin(self, operator: Operator) -> int:
        """Return the first time that whoever begins now sees everything from."""
        buffers = [self.buffers.get(key(node)) for node in _on_its_axis(operator)]
        highs = [b.high + 1 for b in buffers if b is not None and b.high is not None]
        return max(highs, default=BEGIN_OF_TIME)

    def _register(self, live: LiveUnit, places: Mapping[tuple[str, str], Place]) -> None:
        owners = live.unit.owners
        members = {key(node) for node in live.unit.members()}
        for name, leaf in zip(live.unit.inputs, live.unit.leaves, strict=True):
            buffer = self.buffers.open(name, leaf.schema)
            found = {node: at for (node, source), at in places.items() if source == name}
            # What a state has seen decides; what lies below it may be part of other units, too.
            taken_over = [at for node, at in found.items() if node in owners] or [
                at for node, at in found.items() if node in members
            ]
            now = (buffer.written, buffer.watermark, buffer.idle)
            number, mark, idle = min(taken_over, default=now)
            buffer.register(live.reader, number)
            if name not in live.marks:
                live.marks[name] = mark
                live.idle |= {name} if idle else set()
        if live.wants_history:
            self._give_history(live)
        promises = live.promises()
        for root in live.unit.roots:
            output = self.buffers.open(key(root), root.schema)
            if not output.written:  # those that read it may wait long for its first train
                output.watermark, output.idle = promises[key(root)], live.is_idle

    def _unregister_gone(self) -> None:
        wanted = {(live.reader, name) for live in self.units.values() for name in live.unit.inputs}
        wanted |= {(query.reader, query.input) for query in self.queries.values()}
        wanted |= {(archive.reader, name) for name, archive in self.archives.items()}
        wanted |= {(each.reader, each.input) for each in self.occasions.values()}
        for buffer in self.buffers:
            for reader in buffer.readers():
                if (reader, buffer.key) not in wanted:
                    buffer.unregister(reader)
            if buffer.key not in self.writers and buffer.key not in self.feeds:
                self.buffers.drop(buffer.key)

    def set_state(self, query: LiveQuery, state: QueryState, cause: str) -> None:
        """Change a query's state, and let the catalog know."""
        if (query.state, query.cause) != (state, cause):
            query.state, query.cause = state, cause
            self.note_state(query.name, state, cause)

    def fail_readers(self, unit: Unit, cause: str) -> None:
        """Hold the queries whose answers need a unit that cannot run."""
        queries = self.graph.queries_of()
        for name in {each for root in unit.roots for each in queries.get(key(root), ())}:
            if name in self.queries:
                self.set_state(self.queries[name], QueryState.FAILED, cause)

    def resume(self, query: LiveQuery) -> None:
        """Let a held query and the units it needs go on."""
        self.mend(query.root)
        self.set_state(query, QueryState.RUNNING, "")

    def mend(self, root: Operator) -> None:
        """Let the units go on that a node needs."""
        for node in walk(root):
            if live := self.writers.get(key(node)):
                live.cause = ""
                self.stirred.add(live.unit.key)
        self.apart.discard(key(root))

    def end_takes(self, query: LiveQuery) -> bool:
        """End the input of a query whose time is up; False while recorded runs must come first."""
        takes = [
            live
            for node in walk(query.root)
            if isinstance(node, Take) and (live := self.units.get(key(node))) is not None
        ]
        if any(live.replay for live in takes):
            return False
        for live in takes:
            live.time_is_up = True
            self.stirred.add(live.unit.key)
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
        self.finished[name] = self.queries.pop(name)

    def rows_in(self, query: LiveQuery) -> int:
        """Return how many tuples of its streams a query has seen."""
        if query.name.lower() not in self.queries:
            return query.rows_in
        if isinstance(query.root, Scan):
            return query.meter.rows
        return sum(
            live.rows_in - live.rows_before.get(name, 0)
            for name, live in self.units_of(query).items()
            if any(isinstance(leaf, Scan) for leaf in live.unit.leaves)
        )

    def units_of(self, query: LiveQuery) -> dict[str, LiveUnit]:
        """Return the units whose trains a query's answer is made of, by the root it reads."""
        found: dict[str, LiveUnit] = {}
        waiting = [query.input]
        while waiting:
            name = waiting.pop()
            if name not in found and (live := self.writers.get(name)) is not None:
                found[name] = live
                waiting += live.unit.inputs
        return found

    def late_rows(self, query: LiveQuery) -> int:
        """Return how many tuples came too late for a query's windows."""
        if query.name.lower() not in self.queries:
            return query.late_rows
        judged_by = {key(each) for each in judges(query.root)}
        units = self.units_of(query).values()
        counts = {id(unit): unit.late_rows for unit in units}.values()
        return sum(count.get(judge, 0) for count in counts for judge in judged_by)

    def standing(self, name: str) -> LiveQuery | None:
        """Return a query that runs, is suspended, or waits to be let in."""
        held = {**self.waiting, **self.suspended}
        return self.queries.get(name.lower()) or held.get(name.lower())

    def is_drained(self) -> bool:
        """Say whether every source has ended and everything that can be done is done."""
        if self.suspended or self.waiting:  # they come when there is room
            return False
        for feed in list(self.feeds.values()):
            buffer = self.buffers.get(feed.key)
            over = feed.ended or feed.given_up or self.waits_for_rules(feed)
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

    def waits_for_rules(self, feed: Feed) -> bool:
        """Say whether all of a stream is read that rules add to: it ends when all others have."""
        rules = [rule for each in list(self.occasions.values()) for rule in each.rules.values()]
        added_to = any(feed.definition.name.lower() in rule.definition.targets for rule in rules)
        # In this order: what the source has no more may be on its way and not yet begun to be read.
        is_read = isinstance(feed.interface, Push) and not feed.interface.waits
        return added_to and is_read and not feed.cutting

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
        rules = (each.replay for each in list(self.occasions.values()))
        return any(units) or any(query.replay for query in running) or any(rules)

    def active_readers(self) -> set[str]:
        """Return the units, queries, archives and readers for rules that are not held."""
        archives = {each.reader for each in list(self.archives.values()) if not each.given_up}
        active = {live.reader for live in list(self.units.values()) if not live.cause}
        running = [q for q in list(self.queries.values()) if q.state is QueryState.RUNNING]
        rules = {each.reader for each in list(self.occasions.values())}
        return archives | active | rules | {query.reader for query in running}


def _judge(member: Asking) -> str:
    """Return the operator whose state a bundle keeps for a member."""
    return key(member.aggregate) if isinstance(member, Member) else member.key


def _on_its_axis(operator: Operator) -> Iterable[Operator]:
    """Yield the nodes below whose event times an operator counts in: numbers are no times."""
    for each in operator.inputs:
        yield each
        if not (isinstance(each, Ordered) and each.axis == "number"):
            yield from _on_its_axis(each)


def _places(units: Iterable[LiveUnit], buffers: BufferPool) -> dict[tuple[str, str], Place]:
    """Return how far each node's unit has read each of its inputs, by (node, input)."""
    found: dict[tuple[str, str], Place] = {}
    for live in units:
        for name in live.unit.inputs:
            buffer = buffers.get(name)
            if buffer is not None and live.reader in buffer.readers():
                mark = live.marks.get(name, BEGIN_OF_TIME)
                place = (buffer.readers()[live.reader], mark, name in live.idle)
                found |= {(key(node), name): place for node in live.unit.members()}
                found |= {(node, name): place for node in live.unit.owners}
    return found
