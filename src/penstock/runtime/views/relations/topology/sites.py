"""`system.sites`: what each site of a flow did, how long, and how much of the time it was idle."""

from collections.abc import Iterator

from penstock.engine.states.sites import SitesState
from penstock.engine.workers.ledger import Ledger
from penstock.functions.flows.figures import NodeFigures
from penstock.functions.flows.stages import Stages, Task
from penstock.plan.operators import Flow, key
from penstock.plan.operators.lateness import flows_in
from penstock.runtime.loop.supervisor import Supervisor
from penstock.runtime.names.directory import Directory, KnownQuery
from penstock.runtime.topology.topology import Topology
from penstock.runtime.views.view import Row, View, columns


def site_rows(directory: Directory, supervisor: Supervisor, name: str | None = None) -> list[Row]:
    """Return a row for each function at its site, of all flows or those of one query."""
    known = [directory.query(name)] if name else list(directory.queries())
    with supervisor.resting():
        return [row for query in known for row in _rows(query, supervisor.topology)]


def _rows(known: KnownQuery, topology: Topology) -> Iterator[Row]:
    for flow in flows_in(known.root):
        stages, ledger = _run_of(flow, topology)
        for number, task in enumerate(stages.tasks):
            for row in _of_task(task, ledger):
                yield {"query": known.definition.name, "task": number} | row


def _run_of(flow: Flow, topology: Topology) -> tuple[Stages, Ledger]:
    """Return how a flow ran, and what its sites did, nothing where it does not run."""
    wanted = key(flow)
    for live in topology.units.values():
        if isinstance(live.state, SitesState) and key(live.state.operator) == wanted:
            return live.state.stages, live.state.ledger
    return topology.ledgers.get(wanted, (flow.stages, Ledger()))


def _of_task(task: Task, ledger: Ledger) -> Iterator[Row]:
    name = task.program.numbers[-1]
    crossing, elapsed = ledger.crossing.get(name, 0.0), ledger.elapsed.get(name, 0.0)
    busy = sum(ledger.nodes[n].seconds for n in task.program.numbers if n in ledger.nodes)
    left = max(0.0, elapsed - busy - crossing)
    idle = round(left / elapsed, 3) if elapsed else None
    for number, node in zip(task.program.numbers, task.program.nodes, strict=True):
        if number not in task.counts:
            continue
        empty = NodeFigures(number, node.call.function.name, node.site, node.phase)
        figures = ledger.nodes.get(number, empty)
        last = number == name
        yield {
            "site": figures.site,
            "phase": figures.phase,
            "function": figures.function,
            "windows_in": figures.items_in,
            "windows_out": figures.items_out,
            "bytes_in": figures.bytes_in,
            "bytes_out": figures.bytes_out,
            "held": figures.withheld,
            "processing_ms": round(figures.seconds * 1000, 3),
            "communication_ms": round(crossing * 1000, 3) if last else 0.0,
            "idle_share": idle if last else None,
            "idle_ms": round(left * 1000, 3) if last and elapsed else None,
            "runs_in_driver": ledger.runs["driver"],
            "runs_by_workers": ledger.runs["workers"],
        }


SITES = View(
    "sites",
    "functions of flows at their sites, and the time that they took",
    columns(
        "query STRING, site BIGINT, phase STRING, function STRING, task BIGINT, "
        "windows_in BIGINT, windows_out BIGINT, bytes_in BIGINT, bytes_out BIGINT, held BIGINT, "
        "processing_ms DOUBLE, communication_ms DOUBLE, idle_share DOUBLE, idle_ms DOUBLE, "
        "runs_in_driver BIGINT, runs_by_workers BIGINT"
    ),
    lambda of: site_rows(of.directory, of.supervisor),
)
