"""SHOW SHARING: which units serve several queries, and how much work that saves."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from penstock.engine.spark.spare_processor import spare_processor
from penstock.model.own_names import readable
from penstock.plan.explain.explain_bundle import queries_in
from penstock.plan.operators import Scan, key
from penstock.plan.sharing.units import Unit
from penstock.runtime.system.system import System
from penstock.runtime.views.trial import held_rows, share_of_one
from penstock.runtime.work.live_unit import LiveUnit

SHARING_COLUMNS = pa.schema(
    [
        ("what", pa.string()),
        ("kind", pa.string()),
        ("queries", pa.int64()),
        ("runs", pa.int64()),
        ("rows_in", pa.int64()),
        ("busy_s", pa.float64()),
        ("alone_s", pa.float64()),
        ("saving", pa.float64()),
    ]
)


def sharing_rows(system: System) -> list[dict[str, Any]]:
    """Return a row for every unit that serves more than one query, those at work most first.

    Trials hold everything still for a while.
    """
    with system.supervisor.resting():
        users = system.topology.graph.queries_of()
        shared = [
            (live, count)
            for live in system.topology.units.values()
            if (count := _served(system, live, users)) > 1
        ]
        shared.sort(key=lambda each: -each[0].busy_seconds)
        return [_row(live, count, _share(system, live)) for live, count in shared]


def _served(system: System, live: LiveUnit, users: Mapping[str, list[str]]) -> int:
    """Return how many queries would have to do a unit's work if they were alone."""
    if live.unit.bundle is not None:
        return len(queries_in(live.unit, system.topology.graph))
    return len(users.get(live.unit.key, ()))


def _share(system: System, live: LiveUnit) -> float | None:
    """Return a query's work alone as a share of the unit's, or None where it cannot be tried."""
    if live.unit.bundle is None:
        return 1.0  # whoever is alone does all of it
    try:
        held = held_rows(live.unit, system.topology.buffers)
        if not live.runs or not any(table.num_rows for table in held.values()):
            return None
        with spare_processor(system.sessions, system.topology.buffers.spill) as processor:
            return share_of_one(processor, live.unit, held)
    except Exception:  # whatever it is, what was counted is worth showing
        return None


def _what(unit: Unit) -> str:
    """Return a unit's operators, and over what they are."""
    over = [
        leaf.stream if isinstance(leaf, Scan) else f"node {key(leaf)[:6]}" for leaf in unit.leaves
    ]
    return f"{', '.join(readable(each.text()) for each in unit.members())} over {', '.join(over)}"


def _row(live: LiveUnit, queries: int, share: float | None) -> dict[str, Any]:
    busy = live.busy_seconds
    saving = share * queries if share is not None and live.runs else None
    return {
        "what": _what(live.unit),
        "kind": "node" if live.unit.bundle is None else "bundle",
        "queries": queries,
        "runs": live.runs,
        "rows_in": live.rows_in,
        "busy_s": round(busy, 3),
        "alone_s": None if saving is None else round(busy * saving, 3),
        "saving": None if saving is None else round(saving, 1),
    }
