"""SHOW OPERATORS: what is known of every operator that runs, and how it is known."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from penstock.model.own_names import readable
from penstock.plan.explain.explain_bundle import queries_in
from penstock.plan.operators import key
from penstock.plan.sharing.units import Unit
from penstock.runtime.quality.statistics import Queue, queue_of
from penstock.runtime.system.system import System
from penstock.runtime.work.live_unit import LiveUnit
from penstock.schedule.costs.apportion import explained
from penstock.schedule.costs.observation import Average, Figures
from penstock.schedule.costs.record import Record

OPERATOR_COLUMNS = pa.schema(
    [
        ("unit", pa.string()),
        ("operator", pa.string()),
        ("queries", pa.int64()),
        ("runs", pa.int64()),
        ("rows_in", pa.int64()),
        ("rows_out", pa.int64()),
        ("selectivity", pa.float64()),
        ("cost_us", pa.float64()),
        ("in_per_s", pa.float64()),
        ("queued_rows", pa.int64()),
        ("queued_bytes", pa.int64()),
        ("oldest_s", pa.float64()),
        ("memory_bytes", pa.int64()),
        ("weight", pa.float64()),
        ("error", pa.float64()),
        ("explained", pa.float64()),
        ("how", pa.string()),
    ]
)
MEASURED, APPORTIONED, UNKNOWN = "measured", "apportioned", "not yet"
MICRO = 1e6


def operator_rows(system: System) -> list[dict[str, Any]]:
    """Return a row for every operator of every unit, inputs first; queues stand at its first."""
    with system.supervisor.resting():
        system.supervisor.statistics.asked = system.clock.now()
        users = system.topology.graph.queries_of()
        return [
            row for live in system.topology.units.values() for row in _rows(system, live, users)
        ]


def _rows(
    system: System, live: LiveUnit, users: Mapping[str, list[str]]
) -> Iterator[dict[str, Any]]:
    now, unit, statistics = system.clock.now(), live.unit, system.supervisor.statistics
    record = statistics.record(unit.key, now)
    seen = statistics.observation_of(live, queue_of(system.topology, live, now), now)
    members, profile = unit.members(), statistics.profiles.get(unit.key)
    shares = statistics.shares(unit, now)
    for place, member in enumerate(members):
        name = key(member)
        whole = len(members) == 1
        known = whole or name in shares
        figures = seen.operator(name)
        share = shares.get(name)
        into = share.rows_in if share is not None else None
        out = share.rows_out if share is not None else None
        first, last = place == 0, place == len(members) - 1
        row = {
            "unit": unit.key[:6],
            "operator": readable(member.text()),
            "queries": _served(system, unit, users.get(name, [])),
            "runs": live.runs,
            "rows_in": _count(live.rows_in, 1.0 if whole else into),
            "rows_out": live.rows_out if last else _count(live.rows_in, out),
            "how": (MEASURED if whole else APPORTIONED) if known and record.ever else UNKNOWN,
            "explained": _plain(explained(profile, record)) if share and profile else None,
            "memory_bytes": live.state_bytes if member is unit.stateful else 0,
        }
        yield row | _figures(figures, record) | _waits(seen.unit(unit.key), first=first)


def _served(system: System, unit: Unit, users: list[str]) -> int:
    return len(queries_in(unit, system.topology.graph)) if unit.bundle is not None else len(users)


def _figures(figures: Figures, record: Record) -> dict[str, Any]:
    return {
        "selectivity": _value(figures.selectivity, 1.0),
        "cost_us": _value(figures.seconds, MICRO),
        "in_per_s": _value(figures.rate, 1.0),
        "weight": round(record.runs, 2),
        "error": _plain(record.error),
    }


def _waits(figures: Figures, *, first: bool) -> dict[str, Any]:
    """Return what waits before a unit, in the row of its first operator."""
    queue = Queue(figures.queued_rows, figures.queued_bytes, figures.oldest_age)
    if not first:
        queue = Queue(0, 0, 0.0)
    return {
        "queued_rows": queue.rows,
        "queued_bytes": queue.size,
        "oldest_s": round(queue.age, 3),
    }


def _count(rows: int, ratio: float | None) -> int | None:
    return None if ratio is None else round(rows * ratio)


def _value(average: Average, unit: float) -> float | None:
    value = average.or_else(math.nan)
    return None if math.isnan(value) else _plain(value * unit)


def _plain(value: float) -> float | None:
    return float(f"{value:.4g}") if math.isfinite(value) else None
