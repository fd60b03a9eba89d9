"""EXPLAIN: the plan of a query that runs or would, what it was measured to cost, and all plans."""

from collections.abc import Iterator, Sequence

from penstock.engine.spark.spare_processor import spare_processor
from penstock.errors import told
from penstock.plan.explain.drawings import FORMS, draw
from penstock.plan.explain.explain import explain, units_behind
from penstock.plan.operators import key
from penstock.plan.operators.graph import Graph
from penstock.plan.sharing.units import Unit
from penstock.runtime.names.directory import KnownQuery
from penstock.runtime.system.system import System
from penstock.runtime.topology.standing import standing_of
from penstock.runtime.views.trial import held_rows, try_member
from penstock.runtime.work.live_unit import LiveUnit
from penstock.sql import Form

MEASURED = "measured"


def explained(system: System, known: KnownQuery) -> str:
    """Return the plan as it runs, or as it would, and figures of what runs."""
    name = known.definition.name.lower()
    with system.supervisor.resting():
        running = _runs(system, known)
        graph = system.topology.graph.with_query(name, known.root)
        units = _units(system, graph, running=running)
        lines = [explain(name, known.root, graph, units)]
        if running and (figures := list(_measured(system, known, units))):
            lines += ["", MEASURED, *figures]
        for table in _chosen_from(system, known) if running else ():
            lines += ["", table]
        return "\n".join(lines)


def drawn(system: System, form: Form) -> str:
    """Return the whole shared graph as it runs, drawn."""
    with system.supervisor.resting():
        units = [live.unit for live in system.topology.units.values()]
        return FORMS[form](draw(system.topology.graph, units))


def _runs(system: System, known: KnownQuery) -> bool:
    """Say whether this very query runs, and not another of its name or none."""
    running = system.topology.queries.get(known.definition.name.lower())
    return running is not None and key(running.root) == key(known.root)


def _units(system: System, graph: Graph, *, running: bool) -> Sequence[Unit]:
    """Return the units that run, or that would with one query more."""
    if running:
        return [live.unit for live in system.topology.units.values()]
    return system.supervisor.units_of(graph, standing_of(system.topology))


def _measured(system: System, known: KnownQuery, units: Sequence[Unit]) -> Iterator[str]:
    """Yield what the units have done; nothing while none of them has run."""
    behind = [system.topology.units[unit.key] for _, unit in units_behind(known.root, units)]
    if not any(live.runs for live in behind):
        return
    yield from (f"  {figures_text(live)}" for live in behind)
    writer = system.topology.writers.get(key(known.root))
    if writer is not None and writer.unit.bundle is not None:
        yield f"  {trial_text(system, writer.unit, key(known.root))}"


def _chosen_from(system: System, known: KnownQuery) -> list[str]:
    """Return the tables that the plans of the query's flows were chosen from."""
    query = system.topology.queries[known.definition.name.lower()]
    return system.tuner.told(list(system.topology.units_of(query).values()))


def figures_text(live: LiveUnit) -> str:
    """Return what a unit has done so far, on one line."""
    kind = "unit" if live.unit.bundle is None else "bundle"
    rows = f"{live.rows_in:,} rows in, {live.rows_out:,} out"
    name = f"{kind} {live.unit.key[:6]}"
    runs = "1 run" if live.runs == 1 else f"{live.runs:,} runs"
    return f"{name}: {runs}, {rows}, {live.busy_seconds:.3f} s at work"


def trial_text(system: System, unit: Unit, root: str) -> str:
    """Return what a trial of a bundle's member gave, or why there is none; while quiesced."""
    members = unit.bundle.members if unit.bundle is not None else ()
    member = next(each for each in members if each.key == root)
    try:
        held = held_rows(unit, system.topology.buffers)
        if not any(table.num_rows for table in held.values()):
            return "no trial: the trains that it has read are here no more"
        with spare_processor(system.sessions, system.topology.buffers.spill) as processor:
            return f"a trial: {try_member(processor, unit, member, held).text()}"
    except Exception as error:  # whatever it is, the plan is worth more
        return f"no trial: {told(error).partition(chr(10))[0]}"
