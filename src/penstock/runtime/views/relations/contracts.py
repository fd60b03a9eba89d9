"""SHOW QOS and SHOW LOAD: what was promised and what became of it, and how much there is to do.

Nothing rests for it: who looks at a load must not add to it.
"""

import math
from typing import Any

import pyarrow as pa

from penstock.plan.operators import Gate, Scan, key
from penstock.qos.contracts.contracts import Contract
from penstock.runtime.names.directory import KnownQuery
from penstock.runtime.system.steering import missed_rows
from penstock.runtime.system.system import System
from penstock.runtime.work.live_query import LiveQuery
from penstock.runtime.work.live_unit import LiveUnit
from penstock.runtime.work.promise import Promise

QOS_COLUMNS = pa.schema(
    [
        ("query", pa.string()),
        ("state", pa.string()),
        ("weight", pa.float64()),
        ("max_latency_ms", pa.float64()),
        ("p50_ms", pa.float64()),
        ("p95_ms", pa.float64()),
        ("p99_ms", pa.float64()),
        ("late_share", pa.float64()),
        ("max_error", pa.float64()),
        ("error_p95", pa.float64()),
        ("wrong_share", pa.float64()),
        ("keep", pa.float64()),
        ("may_shed", pa.float64()),
        ("shed_rows", pa.int64()),
        ("shed_at", pa.string()),
        ("suspended_since", pa.timestamp("us", "UTC")),
        ("missed_rows", pa.int64()),
        ("kept", pa.bool_()),
        ("whole", pa.string()),
    ]
)
LOAD_COLUMNS = pa.schema(
    [
        ("slots", pa.int64()),
        ("load", pa.float64()),
        ("load_soon", pa.float64()),
        ("waits_s", pa.float64()),
        ("gates", pa.int64()),
        ("gates_shut", pa.int64()),
        ("changes", pa.int64()),
        ("short", pa.float64()),
        ("suspended", pa.int64()),
    ]
)
MILLI = 1000.0


def qos_rows(system: System) -> list[dict[str, Any]]:
    """Return a row for every query that was promised something, or is suspended or was."""
    topology = system.topology
    queries = [*list(topology.queries.values()), *list(topology.suspended.values())]
    return [_row(system, each) for each in queries if each.promise or missed_rows(topology, each)]


def load_rows(system: System) -> list[dict[str, Any]]:
    """Return the one row of SHOW LOAD."""
    quality = system.supervisor.quality
    units = list(system.topology.units.values())
    gates = [each for each in units if isinstance(each.unit.root, Gate)]
    keeper, now = quality.shedding_controller, system.clock.now()
    return [
        {
            "slots": system.supervisor.slots,
            "load": round(quality.outlook.load, 3),
            "load_soon": round(quality.outlook.ahead, 3),
            "waits_s": round(quality.outlook.wait, 3),
            "gates": len(gates),
            "gates_shut": sum(keeper.share(each, now) < 1 for each in gates),
            "changes": quality.changes,
            "short": round(max(quality.shedding.placement.short.values(), default=0.0), 3),
            "suspended": len(system.topology.suspended),
        }
    ]


def _row(system: System, query: LiveQuery) -> dict[str, Any]:
    promise = query.promise or Promise(Contract.of(query.definition.goals))
    contract, verdict = promise.contract, promise.verdict()
    keeper, now = system.supervisor.quality.shedding_controller, system.clock.now()
    has_rows, gates = promise.account.tuples > 0, _gates(system, query)
    sampled, most = promise.errors.weight > 0, promise.limit(aggregates=not query.shows_tuples).most
    return {
        "query": query.name,
        "state": query.state.name,
        "weight": contract.weight,
        "max_latency_ms": _known(contract.max_latency * MILLI),
        "p50_ms": round(verdict.p50 * MILLI, 1) if has_rows else None,
        "p95_ms": round(verdict.p95 * MILLI, 1) if has_rows else None,
        "p99_ms": round(verdict.p99 * MILLI, 1) if has_rows else None,
        "late_share": round(verdict.late_share, 4) if has_rows else None,
        "max_error": contract.max_error,
        "error_p95": round(promise.errors.quantile(0.95), 4) if sampled else None,
        "wrong_share": round(verdict.wrong_share, 4) if sampled else None,
        "keep": math.prod(keeper.share(each, now) for each in gates),
        "may_shed": round(most, 4) if gates else 0.0,
        "shed_rows": sum(each.rows_in - each.rows_out for each in gates),
        "shed_at": ", ".join(_told(system, each, keeper.share(each, now)) for each in gates),
        "suspended_since": round(query.away.since * 1e6) if query.away is not None else None,
        "missed_rows": missed_rows(system.topology, query),
        "kept": verdict.is_kept,
        "whole": _whole(system, query),
    }


def _whole(system: System, query: LiveQuery) -> str:
    known = system.directory.get(query.name)
    return known.whole if isinstance(known, KnownQuery) else ""


def _gates(system: System, query: LiveQuery) -> list[LiveUnit]:
    """Return the gates that a query reads through, those first that are below others."""
    names = [name for name, node in query.nodes.items() if isinstance(node, Gate)]
    return [live for name in names if (live := system.topology.units.get(name)) is not None]


def _told(system: System, gate: LiveUnit, keep: float) -> str:
    """Return where a gate stands, what it keeps now, and how many tuples it has dropped.

    It stands before a stream, or behind queries that give the same.
    """
    root = gate.unit.root
    assert isinstance(root, Gate)  # noqa: S101  (it was found as one)
    if isinstance(root.input, Scan):
        place = f"before {root.input.stream}"
    else:
        names = [
            q.name for q in list(system.topology.queries.values()) if q.input == key(root.input)
        ]
        place = f"behind {' and '.join(sorted(names)) or 'what no running query shows'}"
    return f"{place}: {gate.rows_in - gate.rows_out} (keeps {keep:.2g})"


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None
