"""SHOW SITES: what each site of a flow did, how long, and how much of the time it was idle."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from penstock.engine.states.sites import SitesState
from penstock.engine.workers.ledger import Ledger
from penstock.functions.flows.figures import Figures
from penstock.functions.flows.stages import Stages, Task
from penstock.plan.operators import Flow, key
from penstock.plan.operators.lateness import flows_in
from penstock.runtime.names.directory import KnownQuery
from penstock.runtime.system.system import System

SITE_COLUMNS = pa.schema(
    [
        ("query", pa.string()),
        ("site", pa.int64()),
        ("phase", pa.string()),
        ("function", pa.string()),
        ("task", pa.int64()),
        ("windows_in", pa.int64()),
        ("windows_out", pa.int64()),
        ("bytes_in", pa.int64()),
        ("bytes_out", pa.int64()),
        ("held", pa.int64()),
        ("processing_ms", pa.float64()),
        ("communication_ms", pa.float64()),
        ("idle_share", pa.float64()),
        ("idle_ms", pa.float64()),
        ("runs_in_driver", pa.int64()),
        ("runs_by_workers", pa.int64()),
    ]
)


def site_rows(system: System, name: str | None = None) -> list[dict[str, Any]]:
    """Return a row for each function at its site, of all flows or those of one query."""
    known = [system.directory.query(name)] if name else list(system.directory.queries())
    with system.supervisor.resting():
        return [row for query in known for row in _rows(system, query)]


def crowded(system: System, known: KnownQuery) -> str:
    """Say where a flow has more branches than can run at once."""
    slots = system.processor.slots
    most = max((flow.stages.degree for flow in flows_in(known.root)), default=0)
    return f"; its {most} branches share {slots} slots" if most > slots else ""


def _rows(system: System, known: KnownQuery) -> Iterator[dict[str, Any]]:
    for flow in flows_in(known.root):
        stages, ledger = running_of(system, flow)
        for number, task in enumerate(stages.tasks):
            for row in _of_task(task, ledger):
                yield {"query": known.definition.name, "task": number} | row


def running_of(system: System, flow: Flow) -> tuple[Stages, Ledger]:
    """Return how a flow ran, and what its sites did, nothing where it does not run."""
    wanted = key(flow)
    for live in system.topology.units.values():
        if isinstance(live.state, SitesState) and key(live.state.operator) == wanted:
            return live.state.stages, live.state.ledger
    return system.topology.ledgers.get(wanted, (flow.stages, Ledger()))


def _of_task(task: Task, ledger: Ledger) -> Iterator[dict[str, Any]]:
    name = task.program.numbers[-1]
    crossing, elapsed = ledger.crossing.get(name, 0.0), ledger.elapsed.get(name, 0.0)
    busy = sum(ledger.nodes[n].seconds for n in task.program.numbers if n in ledger.nodes)
    left = max(0.0, elapsed - busy - crossing)
    idle = round(left / elapsed, 3) if elapsed else None
    for number, node in zip(task.program.numbers, task.program.nodes, strict=True):
        if number not in task.counts:
            continue
        empty = Figures(number, node.call.function.name, node.site, node.phase)
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
