"""`system.contracts`, `system.qos` and `system.load`: promises, their keeping, and the load.

Nothing rests for it: who looks at a load must not add to it.
"""

import math
from collections.abc import Callable, Iterator

from penstock.plan.operators import Gate, Scan, key
from penstock.qos.contracts.contracts import Contract
from penstock.runtime.loop.supervisor import Supervisor
from penstock.runtime.names.directory import Directory, KnownQuery
from penstock.runtime.queries.suspension import missed_rows
from penstock.runtime.topology.topology import Topology
from penstock.runtime.views.view import Row, View, columns
from penstock.runtime.work.live_query import LiveQuery
from penstock.runtime.work.live_unit import LiveUnit
from penstock.runtime.work.promise import Promise

MILLI = 1000.0

KeepRate = Callable[[LiveUnit], float]  # the share of tuples that a gate lets through now


def contract_rows(directory: Directory) -> Iterator[Row]:
    """Yield what every query asks for, whether it runs or not; null where it asks for nothing."""
    for known in directory.queries():
        definition, goals = known.definition, known.definition.goals
        latency = goals.max_latency
        yield {
            "query": definition.name,
            "max_latency_ms": None if latency is None else latency.total_seconds() * MILLI,
            "max_error": goals.max_error,
            "weight": goals.weight,
            "priority": goals.priority,
            "shed_by": definition.shed_by,
            "admission": "FORCE" if definition.forced else "WAIT" if definition.waits else "",
            "whole": known.whole,
        }


def qos_rows(
    directory: Directory, topology: Topology, keep_rate: KeepRate, now: float
) -> list[Row]:
    """Return a row for every query that was promised something, or is suspended or was."""
    queries = [*list(topology.queries.values()), *list(topology.suspended.values())]
    return [
        _verdict(each, now)
        | _shed(each, topology, keep_rate)
        | {"missed_rows": missed_rows(topology, each), "whole": _whole(directory, each)}
        for each in queries
        if each.promise or missed_rows(topology, each)
    ]


def load_rows(supervisor: Supervisor, now: float) -> list[Row]:
    """Return one row."""
    topology, quality = supervisor.topology, supervisor.quality
    gates = [each for each in list(topology.units.values()) if isinstance(each.unit.root, Gate)]
    keeper = quality.shedding_controller
    shares = supervisor.statistics.timings.time_shares(topology, now)
    return [
        {
            "slots": supervisor.slots,
            "load": round(shares.utilization(supervisor.slots), 3),
            "needed": round(quality.outlook.load, 3),
            "needed_soon": round(quality.outlook.ahead, 3),
            "waits_s": round(quality.outlook.wait, 3),
            "gates": len(gates),
            "gates_shut": sum(keeper.share(each, now) < 1 for each in gates),
            "changes": quality.changes,
            "short": round(max(quality.shedding.placement.short.values(), default=0.0), 3),
            "suspended": len(topology.suspended),
        }
    ]


def _keep_rate(supervisor: Supervisor, now: float) -> KeepRate:
    return lambda gate: supervisor.quality.shedding_controller.share(gate, now)


def _promise(query: LiveQuery) -> Promise:
    return query.promise or Promise(Contract.of(query.definition.goals))


def _verdict(query: LiveQuery, now: float) -> Row:
    """Return what was promised, and what was measured of it since the query is warm."""
    promise = _promise(query)
    contract, verdict = promise.contract, promise.verdict()
    is_warm = promise.is_warm(now)
    has_rows, sampled = promise.account.tuples > 0, promise.errors.weight > 0
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
        "suspended_since": round(query.away.since * 1e6) if query.away is not None else None,
        "kept": verdict.is_kept if is_warm else None,
        "verdict": ("kept" if verdict.is_kept else "broken") if is_warm else "warming",
    }


def _shed(query: LiveQuery, topology: Topology, keep_rate: KeepRate) -> Row:
    """Return what the gates before a query keep, may drop, and have dropped."""
    gates = gates_before(query, topology)
    most = _promise(query).limit(aggregates=not query.shows_tuples).most
    return {
        "keep": math.prod(map(keep_rate, gates)),
        "may_shed": round(most, 4) if gates else 0.0,
        "shed_rows": sum(each.rows_in - each.rows_out for each in gates),
        "shed_at": ", ".join(_gate_text(each, keep_rate(each), topology) for each in gates),
    }


def _whole(directory: Directory, query: LiveQuery) -> str:
    known = directory.get(query.name)
    return known.whole if isinstance(known, KnownQuery) else ""


def gates_before(query: LiveQuery, topology: Topology) -> list[LiveUnit]:
    """Return the gates that a query reads through, those first that are below others."""
    names = [name for name, node in query.nodes.items() if isinstance(node, Gate)]
    return [live for name in names if (live := topology.units.get(name)) is not None]


def _gate_text(gate: LiveUnit, keep: float, topology: Topology) -> str:
    """Return where a gate stands, what it keeps now, and how many tuples it has dropped.

    It stands before a stream, or behind queries that give the same.
    """
    root = gate.unit.root
    assert isinstance(root, Gate)  # noqa: S101  (it was found as one)
    if isinstance(root.input, Scan):
        place = f"before {root.input.stream}"
    else:
        queries = list(topology.queries.values())
        names = [query.name for query in queries if query.input == key(root.input)]
        place = f"behind {' and '.join(sorted(names)) or 'what no running query shows'}"
    return f"{place}: {gate.rows_in - gate.rows_out} (keeps {keep:.2g})"


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None


CONTRACTS = View(
    "contracts",
    "what every query asks for: how late and how wrong it may be, and what it weighs",
    columns(
        "query STRING, max_latency_ms DOUBLE, max_error DOUBLE, weight DOUBLE, priority BIGINT, "
        "shed_by STRING, admission STRING, whole STRING"
    ),
    lambda of: contract_rows(of.directory),
)
QOS = View(
    "qos",
    "what was promised to queries, and what became of it",
    columns(
        "query STRING, state STRING, weight DOUBLE, max_latency_ms DOUBLE, p50_ms DOUBLE, "
        "p95_ms DOUBLE, p99_ms DOUBLE, late_share DOUBLE, max_error DOUBLE, error_p95 DOUBLE, "
        "wrong_share DOUBLE, keep DOUBLE, may_shed DOUBLE, shed_rows BIGINT, shed_at STRING, "
        "suspended_since TIMESTAMP, missed_rows BIGINT, kept BOOLEAN, verdict STRING, "
        "whole STRING"
    ),
    lambda of: qos_rows(
        of.directory, of.topology, _keep_rate(of.supervisor, of.clock.now()), of.clock.now()
    ),
)
LOAD = View(
    "load",
    "how much there is to do, and what is shed for it",
    columns(
        "slots BIGINT, load DOUBLE, needed DOUBLE, needed_soon DOUBLE, waits_s DOUBLE, "
        "gates BIGINT, "
        "gates_shut BIGINT, changes BIGINT, short DOUBLE, suspended BIGINT"
    ),
    lambda of: load_rows(of.supervisor, of.clock.now()),
)
