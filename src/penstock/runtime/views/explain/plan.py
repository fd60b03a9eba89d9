"""EXPLAIN: the plan of a query that runs or would, what it was measured to cost, and all plans."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from penstock.engine.spark.application.session import Sessions
from penstock.engine.spark.jobs.spare_processor import spare_processor
from penstock.engine.states.joins.oblivious_join import ObliviousJoinState
from penstock.engine.states.sharing.joins import JoinsState
from penstock.engine.trains.buffers import BufferPool
from penstock.errors import describe
from penstock.plan.explain.drawings import FORMS, draw
from penstock.plan.explain.explain import explain, units_behind
from penstock.plan.operators import key
from penstock.plan.operators.graph import Graph
from penstock.plan.sharing.units import Unit
from penstock.runtime.loop.supervisor import Supervisor
from penstock.runtime.names.directory import KnownQuery
from penstock.runtime.queries.tuner import Tuner
from penstock.runtime.topology.placement import placement_of
from penstock.runtime.topology.topology import Topology
from penstock.runtime.views.relations.topology.joins import memory_lines
from penstock.runtime.views.relations.topology.units import short
from penstock.runtime.views.trial import held_rows, try_member
from penstock.runtime.work.live_unit import LiveUnit
from penstock.sql import Form

MEASURED = "measured"


@dataclass(frozen=True, slots=True)
class Explainer:
    """Explains queries; `tuner` knows what the plans of flows were chosen from."""

    supervisor: Supervisor
    sessions: Sessions
    tuner: Tuner

    def text(self, known: KnownQuery) -> str:
        """Return the plan as it runs, or as it would, and figures of what runs."""
        name = known.definition.name.lower()
        with self.supervisor.resting():
            topology = self.supervisor.topology
            running = _runs(topology, known)
            graph = topology.graph.with_query(name, known.root)
            units = self._units(graph, running=running)
            lines = [explain(name, known.root, graph, units)]
            if running and (figures := list(self._measured(known, units))):
                lines += ["", MEASURED, *figures]
            for table in self._chosen_from(known) if running else ():
                lines += ["", table]
            return "\n".join(lines)

    def _units(self, graph: Graph, *, running: bool) -> Sequence[Unit]:
        """Return the units that run, or that would with one query more."""
        topology = self.supervisor.topology
        if running:
            return [live.unit for live in topology.units.values()]
        return self.supervisor.units_of(graph, placement_of(topology))

    def _measured(self, known: KnownQuery, units: Sequence[Unit]) -> Iterator[str]:
        """Yield what the units have done; nothing while none of them has run."""
        topology = self.supervisor.topology
        behind = [topology.units[unit.key] for _, unit in units_behind(known.root, units)]
        if not any(live.runs for live in behind):
            return
        for live in behind:
            yield f"  {figures_text(live)}"
            if isinstance(live.state, ObliviousJoinState):
                yield from (f"    {line}" for line in memory_lines(live.state))
        writer = topology.writers.get(key(known.root))
        if writer is not None and writer.unit.bundle is not None:
            tried = trial_text(writer.unit, key(known.root), topology.buffers, self.sessions)
            yield f"  {tried}"

    def _chosen_from(self, known: KnownQuery) -> list[str]:
        """Return the tables that the plans of the query's flows were chosen from."""
        topology = self.supervisor.topology
        query = topology.queries[known.definition.name.lower()]
        return self.tuner.told(list(topology.units_of(query).values()))


def graph_text(supervisor: Supervisor, form: Form) -> str:
    """Return the whole shared graph as it runs, drawn."""
    with supervisor.resting():
        topology = supervisor.topology
        units = [live.unit for live in topology.units.values()]
        return FORMS[form](draw(topology.graph, units))


def _runs(topology: Topology, known: KnownQuery) -> bool:
    """Say whether this very query runs, and not another of its name or none."""
    running = topology.queries.get(known.definition.name.lower())
    return running is not None and key(running.root) == key(known.root)


def figures_text(live: LiveUnit) -> str:
    """Return what a unit has done so far, on one line."""
    kind = "unit" if live.unit.bundle is None else "bundle"
    rows = f"{live.rows_in:,} rows in, {live.rows_out:,} out"
    name = f"{kind} {short(live.unit.key)}"
    runs = "1 run" if live.runs == 1 else f"{live.runs:,} runs"
    if isinstance(live.state, JoinsState) and live.state.apart:
        runs += f" ({live.state.apart:,} join by join)"
    return f"{name}: {runs}, {rows}, {live.busy_seconds:.3f} s at work"


def trial_text(unit: Unit, root: str, buffers: BufferPool, sessions: Sessions) -> str:
    """Return what a trial of a bundle's member gave, or why there is none; while quiesced."""
    members = unit.bundle.members if unit.bundle is not None else ()
    member = next(each for each in members if each.key == root)
    try:
        held = held_rows(unit, buffers)
        if not any(table.num_rows for table in held.values()):
            return "no trial: the trains that it has read are here no more"
        with spare_processor(sessions, buffers.spill) as processor:
            return f"a trial: {try_member(processor, unit, member, held).text()}"
    except Exception as error:  # whatever it is, the plan is worth more
        return f"no trial: {describe(error).partition(chr(10))[0]}"
