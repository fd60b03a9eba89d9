"""`system.operators`: what is known of every operator that runs, and how it is known."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from penstock.model.own_names import readable
from penstock.plan.operators import key
from penstock.runtime.loop.supervisor import Supervisor
from penstock.runtime.quality.statistics import Statistics, UnitQueue, queue_of
from penstock.runtime.views.relations.topology.units import queries_served, short
from penstock.runtime.views.view import Row, View, columns
from penstock.runtime.work.live_unit import LiveUnit
from penstock.schedule.costs.apportion import explained
from penstock.schedule.costs.observation import Average, OperatorFigures
from penstock.schedule.costs.record import RunRecord

MEASURED, APPORTIONED, UNKNOWN = "measured", "apportioned", "not yet"
MICRO = 1e6


def operator_rows(supervisor: Supervisor, now: float) -> list[Row]:
    """Return a row for every operator of every unit, inputs first; queues stand at its first."""
    with supervisor.resting():
        topology, statistics = supervisor.topology, supervisor.statistics
        statistics.asked = now
        look = _Look(statistics, queries_served(topology), now)
        units = topology.units.values()
        return [row for live in units for row in look.rows(live, queue_of(topology, live, now))]


@dataclass(frozen=True, slots=True)
class _Look:
    """What is known of operators at a moment, and the queries that nodes and bundles serve."""

    statistics: Statistics
    served: Mapping[str, list[str]]
    now: float

    def rows(self, live: LiveUnit, queue: UnitQueue) -> Iterator[Row]:
        unit, statistics, now = live.unit, self.statistics, self.now
        record = statistics.record(unit.key, now)
        seen = statistics.observation_of(live, queue, now)
        members, profile = unit.members(), statistics.profiles.get(unit.key)
        shares = statistics.shares(unit, now)
        for place, member in enumerate(members):
            name = key(member)
            whole = len(members) == 1
            known = whole or name in shares
            share = shares.get(name)
            into = share.rows_in if share is not None else None
            out = share.rows_out if share is not None else None
            first, last = place == 0, place == len(members) - 1
            row = {
                "unit": short(unit.key),
                "operator": readable(member.text()),
                "queries": len(self.served.get(name if unit.bundle is None else unit.key, ())),
                "runs": live.runs,
                "rows_in": _count(live.rows_in, 1.0 if whole else into),
                "rows_out": live.rows_out if last else _count(live.rows_in, out),
                "how": (MEASURED if whole else APPORTIONED) if known and record.ever else UNKNOWN,
                "explained": _plain(explained(profile, record)) if share and profile else None,
                "memory_bytes": live.state_bytes if member is unit.stateful else 0,
            }
            waits = _waits(queue if first else UnitQueue(0, 0, 0.0))
            yield row | _figures(seen.operator(name), record) | waits


def _figures(figures: OperatorFigures, record: RunRecord) -> Row:
    return {
        "selectivity": _value(figures.selectivity, 1.0),
        "cost_us": _value(figures.seconds, MICRO),
        "in_per_s": _value(figures.rate, 1.0),
        "weight": round(record.runs, 2),
        "error": _plain(record.error),
    }


def _waits(queue: UnitQueue) -> Row:
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


OPERATORS = View(
    "operators",
    "operators that run, what they cost, and how that is known",
    columns(
        "unit STRING, operator STRING, queries BIGINT, runs BIGINT, rows_in BIGINT, "
        "rows_out BIGINT, selectivity DOUBLE, cost_us DOUBLE, in_per_s DOUBLE, "
        "queued_rows BIGINT, queued_bytes BIGINT, oldest_s DOUBLE, memory_bytes BIGINT, "
        "weight DOUBLE, error DOUBLE, explained DOUBLE, how STRING"
    ),
    lambda of: operator_rows(of.supervisor, of.clock.now()),
)
