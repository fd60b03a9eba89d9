"""Admission: whether a query has room beside what was promised, and those who wait for it."""

from dataclasses import dataclass

from penstock.catalog import Catalog
from penstock.clock import Clock
from penstock.errors import PenstockError
from penstock.model.definitions import QueryState
from penstock.plan.explain.abridged import few
from penstock.qos.contracts.admission import Refused, Room, Shortage, admission, least_latency
from penstock.qos.contracts.contracts import Contract
from penstock.runtime.loop.graph_cutter import GraphCutter
from penstock.runtime.names.directory import KnownQuery
from penstock.runtime.quality.quality import Quality
from penstock.runtime.queries.admission_what_if import AdmissionWhatIf
from penstock.runtime.queries.live_queries import LiveQueries
from penstock.runtime.topology.topology import Topology


@dataclass(frozen=True, slots=True)
class Admission:
    """Lets queries in, or keeps them waiting; while quiesced."""

    topology: Topology
    catalog: Catalog
    cutter: GraphCutter
    quality: Quality
    queries: LiveQueries
    clock: Clock

    def what_if(self, known: KnownQuery | None = None) -> AdmissionWhatIf:
        """Return the plan with a query, or as it is."""
        return AdmissionWhatIf(self.cutter, self.quality, self.clock.now(), known)

    def refusal(self, known: KnownQuery) -> Refused | None:
        """Return why a query would break what it or others were promised, if it would.

        Where nobody was promised a latency, or nothing is known of rates, everybody may come in.
        Raise where its own contract cannot be kept by anybody.
        """
        name, topology = known.definition.name.lower(), self.topology
        standing = [*topology.queries.values(), *topology.suspended.values()]
        goals = [known.definition.goals, *(query.definition.goals for query in standing)]
        if known.definition.forced or all(each.max_latency is None for each in goals):
            return None
        before, after = self.what_if(), self.what_if(known)
        if not after.has_units(name):
            return None
        if after.measured[0]:
            least = least_latency(after.plan, after.name_of(name))
            Contract.of(known.definition.goals).refuse_below(least)
        if any(each != name for each in topology.suspended):
            short = Shortage("room", few(sorted(topology.suspended)), 0.0, 0.0)
            return Refused(0.0, 0.0, (short,), may_wait=True)
        if not any(after.network.rates.values()):
            return None
        contracts = after.contracts(but=before.broken())
        room = Room(memory_bytes=topology.buffers.bounds.total_bytes)
        found = admission(after.name_of(name), before.plan, after.plan, contracts, room)
        return found if isinstance(found, Refused) else None

    def let_wait(self, known: KnownQuery, refused: Refused) -> str:
        """Keep a query that has no room now; who subscribes to it waits, too."""
        name = known.definition.name
        query = self.queries.made(known, QueryState.WAITING)
        query.cause = refused.text()
        self.topology.waiting[name.lower()] = query
        self.catalog.set_state(name, QueryState.WAITING, query.cause)
        return f"query {name} waits for room: {query.cause}"

    def admit(self) -> None:
        """Admit waiting queries in their order, as far as there is room.

        Otherwise one that needs much would wait for ever while small ones come.
        """
        with self.catalog.together():
            while self.topology.waiting and self._admit_first():
                self.cutter.reconnect()  # the next one shares with it

    def _admit_first(self) -> bool:
        name, query = next(iter(self.topology.waiting.items()))
        known = KnownQuery(query.definition, query.root, frozenset())
        try:
            refused = self.refusal(known)
            cause = "" if refused is None else refused.text()
        except PenstockError as error:  # what it was promised cannot be kept any more, by anybody
            cause = error.message
        if not cause:
            del self.topology.waiting[name]
            self.queries.go_on(query)
            return True
        if cause != query.cause:
            self.topology.set_state(query, QueryState.WAITING, cause)
        return False
