"""`system.units`: every unit that runs, what waits before it and what it has done."""

from collections.abc import Iterator

from penstock.model.own_names import readable
from penstock.plan.explain.explain_bundle import queries_in
from penstock.plan.operators import Gate, Scan, key
from penstock.plan.sharing.units import Unit
from penstock.runtime.loop.supervisor import Supervisor
from penstock.runtime.quality.statistics import queue_of
from penstock.runtime.topology.topology import Topology
from penstock.runtime.views.view import Row, View, columns, first_line


def short(name: str) -> str:
    """Return as much of a key as tells units, nodes and buffers apart."""
    return name[:6]


def queries_served(topology: Topology) -> dict[str, list[str]]:
    """Return the queries that each node and each bundle works for, by its key."""
    graph, units = topology.graph, topology.units.values()
    bundles = [live.unit for live in units if live.unit.bundle is not None]
    return graph.queries_of() | {unit.key: queries_in(unit, graph) for unit in bundles}


def unit_text(unit: Unit) -> str:
    """Return a unit's operators, and over what they are."""
    over = [
        leaf.stream if isinstance(leaf, Scan) else f"node {short(key(leaf))}"
        for leaf in unit.leaves
    ]
    return f"{', '.join(readable(each.text()) for each in unit.members())} over {', '.join(over)}"


def unit_rows(supervisor: Supervisor, now: float) -> list[Row]:
    """Return a row for every unit."""
    with supervisor.resting():
        return list(_rows(supervisor.topology, now))


def _rows(topology: Topology, now: float) -> Iterator[Row]:
    served = queries_served(topology)
    for name, live in topology.units.items():
        queue = queue_of(topology, live, now)
        yield {
            "unit": short(name),
            "what": unit_text(live.unit),
            "kind": kind_of(live.unit),
            "queries": len(served.get(name, ())),
            "state": "HELD" if live.cause else "ENDED" if live.ended else "RUNNING",
            "runs": live.runs,
            "rows_in": live.rows_in,
            "rows_out": live.rows_out,
            "late_rows": sum(live.late_rows.values()),
            "queued_rows": queue.rows,
            "queued_bytes": queue.size,
            "oldest_s": round(queue.age, 3),
            "memory_bytes": live.state_bytes,
            "driver_bytes": live.driver_bytes,
            "file_bytes": live.file_bytes,
            "busy_s": round(live.busy_seconds, 3),
            "cause": first_line(live.cause),
        }


def kind_of(unit: Unit) -> str:
    """Return `bundle`, `gate` or `node`."""
    if unit.bundle is not None:
        return "bundle"
    return "gate" if isinstance(unit.root, Gate) else "node"


UNITS = View(
    "units",
    "units that run, what waits before them and what they have done",
    columns(
        "unit STRING, what STRING, kind STRING, queries BIGINT, state STRING, runs BIGINT, "
        "rows_in BIGINT, rows_out BIGINT, late_rows BIGINT, queued_rows BIGINT, "
        "queued_bytes BIGINT, oldest_s DOUBLE, memory_bytes BIGINT, driver_bytes BIGINT, "
        "file_bytes BIGINT, busy_s DOUBLE, cause STRING"
    ),
    lambda of: unit_rows(of.supervisor, of.clock.now()),
)
