"""`system.sharing`: which units serve several queries, and how much work that saves."""

from penstock.engine.spark.application.session import Sessions
from penstock.engine.spark.jobs.spare_processor import spare_processor
from penstock.engine.trains.buffers import BufferPool
from penstock.runtime.loop.supervisor import Supervisor
from penstock.runtime.views.relations.topology.units import queries_served, unit_text
from penstock.runtime.views.trial import held_rows, share_of_one
from penstock.runtime.views.view import Row, View, columns
from penstock.runtime.work.live_unit import LiveUnit


def sharing_rows(supervisor: Supervisor, sessions: Sessions) -> list[Row]:
    """Return a row for every unit that serves more than one query, those at work most first.

    Trials hold everything still for a while.
    """
    with supervisor.resting():
        topology = supervisor.topology
        served = queries_served(topology)
        shared = [(live, len(served.get(name, ()))) for name, live in topology.units.items()]
        shared.sort(key=lambda each: -each[0].busy_seconds)
        return [
            _row(live, count, _share(live, topology.buffers, sessions))
            for live, count in shared
            if count > 1
        ]


def _share(live: LiveUnit, buffers: BufferPool, sessions: Sessions) -> float | None:
    """Return a query's work alone as a share of the unit's, or None where it cannot be tried."""
    if live.unit.bundle is None:
        return 1.0  # whoever is alone does all of it
    try:
        held = held_rows(live.unit, buffers)
        if not live.runs or not any(table.num_rows for table in held.values()):
            return None
        with spare_processor(sessions, buffers.spill) as processor:
            return share_of_one(processor, live.unit, held)
    except Exception:  # whatever it is, what was counted is worth showing
        return None


def _row(live: LiveUnit, queries: int, share: float | None) -> Row:
    busy = live.busy_seconds
    saving = share * queries if share is not None and live.runs else None
    return {
        "what": unit_text(live.unit),
        "kind": "node" if live.unit.bundle is None else "bundle",
        "queries": queries,
        "runs": live.runs,
        "rows_in": live.rows_in,
        "busy_s": round(busy, 3),
        "alone_s": None if saving is None else round(busy * saving, 3),
        "saving": None if saving is None else round(saving, 1),
    }


SHARING = View(
    "sharing",
    "units that serve several queries, and how much work that saves",
    columns(
        "what STRING, kind STRING, queries BIGINT, runs BIGINT, rows_in BIGINT, busy_s DOUBLE, "
        "alone_s DOUBLE, saving DOUBLE"
    ),
    lambda of: sharing_rows(of.supervisor, of.sessions),
)
