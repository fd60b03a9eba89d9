"""SHOW and DESCRIBE, as rows: what SHOW tells is the schema `system`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from penstock.catalog import Entry
from penstock.errors import UnknownNameError
from penstock.model.definitions import QueryState
from penstock.plan.operators import Scan, key
from penstock.runtime.names.directory import (
    KnownEvent,
    KnownQuery,
    KnownRule,
    KnownStream,
    KnownTable,
)
from penstock.runtime.names.known_functions import FUNCTION_COLUMNS
from penstock.runtime.names.stream_types import TYPE_COLUMNS, type_rows
from penstock.runtime.system.system import System
from penstock.runtime.views.relations.contracts import (
    LOAD_COLUMNS,
    QOS_COLUMNS,
    load_rows,
    qos_rows,
)
from penstock.runtime.views.relations.events import EVENT_COLUMNS, event_rows
from penstock.runtime.views.relations.operators import OPERATOR_COLUMNS, operator_rows
from penstock.runtime.views.relations.properties import PROPERTY_COLUMNS, property_rows
from penstock.runtime.views.relations.rules import PART_COLUMNS, RULE_COLUMNS, described, rule_rows
from penstock.runtime.views.relations.sharing import SHARING_COLUMNS, sharing_rows
from penstock.runtime.views.relations.sites import SITE_COLUMNS, site_rows
from penstock.runtime.views.relations.strategy import STRATEGY_COLUMNS, strategy_rows
from penstock.runtime.work.live_query import LiveQuery

QUERY_COLUMNS = pa.schema(
    [
        ("query", pa.string()),
        ("state", pa.string()),
        ("rows_in", pa.int64()),
        ("rows_out", pa.int64()),
        ("in_per_s", pa.float64()),
        ("out_per_s", pa.float64()),
        ("p50_ms", pa.float64()),
        ("p99_ms", pa.float64()),
        ("queued_rows", pa.int64()),
        ("queued_bytes", pa.int64()),
        ("late_rows", pa.int64()),
        ("cause", pa.string()),
    ]
)
STREAM_COLUMNS = pa.schema(
    [
        ("stream", pa.string()),
        ("source", pa.string()),
        ("state", pa.string()),
        ("trains", pa.int64()),
        ("rows", pa.int64()),
        ("rows_per_s", pa.float64()),
        ("rejected", pa.int64()),
        ("queued_rows", pa.int64()),
        ("memory_bytes", pa.int64()),
        ("disk_bytes", pa.int64()),
        ("watermark", pa.timestamp("us", "UTC")),
        ("archived_rows", pa.int64()),
        ("archived_bytes", pa.int64()),
        ("history_from", pa.timestamp("us", "UTC")),
        ("cause", pa.string()),
    ]
)
TABLE_COLUMNS = pa.schema(
    [
        ("table", pa.string()),
        ("source", pa.string()),
        ("columns", pa.int64()),
        ("rows", pa.int64()),
        ("version", pa.int64()),
        ("read_at", pa.timestamp("us", "UTC")),
        ("cause", pa.string()),
    ]
)
COLUMN_COLUMNS = pa.schema([("column", pa.string()), ("type", pa.string()), ("note", pa.string())])
SHOWN_TIME = 2**61  # a watermark beyond it is the end of time, not a moment


@dataclass(frozen=True, slots=True)
class View:
    """A relation of the schema `system`: SHOW tells all of it, one-time SELECTs what they ask."""

    columns: pa.Schema
    rows: Callable[[System], list[dict[str, Any]]]

    def table(self, system: System) -> pa.Table:
        """Return its rows now."""
        return pa.Table.from_pylist(self.rows(system), self.columns)


def show(system: System, what: str, name: str | None = None) -> pa.Table:
    """Return what there is of a kind."""
    if name is not None:  # SHOW SITES query
        return pa.Table.from_pylist(site_rows(system, name), SITE_COLUMNS)
    return VIEWS[what.lower()].table(system)


def describe(system: System, name: str) -> pa.Table:
    """Return the columns of a stream, table, query or event (in mode recent), a rule's parts."""
    known = system.directory.get(name)
    match known:
        case KnownStream(definition, scan):
            schema, times = definition.schema, [time.column for time in scan.times]
        case KnownTable():
            schema, times = known.schema, []
        case KnownQuery():
            schema = known.root.schema
            times = [time.column for time in known.root.times[:1]]
        case KnownEvent():
            schema = known.root().schema
            times = [time.column for time in known.root().times[:1]]
        case KnownRule():
            return pa.Table.from_pylist(described(known), PART_COLUMNS)
        case None if (kind := system.types.find(name)) is not None:
            schema, times = kind.schema, [kind.kind.ordering or ""]
        case None if system.functions.find(name) is not None:
            rows = [
                row for row in system.functions.rows() if row["function"].lower() == name.lower()
            ]
            return pa.Table.from_pylist(rows, FUNCTION_COLUMNS)
        case None:
            raise UnknownNameError(f"no stream, table, query, event, rule, type or function {name}")
    rows = [
        {"column": c.name, "type": c.type, "note": "event time" if c.name in times else ""}
        for c in schema
    ]
    return pa.Table.from_pylist(rows, COLUMN_COLUMNS)


def _query_rows(system: System) -> list[dict[str, Any]]:
    rows = [query_row(system, each) for each in system.directory.queries()]
    return rows + [_broken_row(each) for each in system.catalog.all() if _is_broken(system, each)]


def query_row(system: System, known: KnownQuery) -> dict[str, Any]:
    """Return a query's figures."""
    name = known.definition.name.lower()
    live = system.topology.queries.get(name) or system.topology.finished.get(name)
    entry = system.catalog.get(name)
    state = entry.state if entry is not None else None
    cause = entry.cause if entry is not None else ""
    row: dict[str, Any] = {
        "query": known.definition.name,
        "state": str(state or QueryState.RUNNING),
        "cause": cause.partition("\n")[0],
    }
    if live is None:
        rows_out = system.journal.delivered_rows(f"query:{name}")
        return row | {"rows_in": 0, "rows_out": rows_out, "queued_rows": 0, "late_rows": 0}
    return row | _live_figures(system, live)


def _is_broken(system: System, entry: Entry) -> bool:
    """Say whether a query's definition could not be brought back, such as over a lost table."""
    return entry.kind == "QUERY" and system.directory.get(entry.name) is None


def _broken_row(entry: Entry) -> dict[str, Any]:
    return {
        "query": entry.name,
        "state": str(entry.state or QueryState.FAILED),
        "cause": entry.cause.partition("\n")[0],
    }


def _live_figures(system: System, live: LiveQuery) -> dict[str, Any]:
    now, topology = system.clock.now(), system.topology
    writers = topology.writers  # as they are now: a cut puts others in their place
    readers = {writers[name].reader for name in live.nodes if name in writers}
    readers.add(live.reader)
    feeds = [topology.feeds[name] for name, node in live.nodes.items() if isinstance(node, Scan)]
    waiting = [
        train
        for name in live.nodes
        if (buffer := topology.buffers.get(name)) is not None
        for reader in buffer.readers()
        if reader in readers
        for train in buffer.waiting(reader)
    ]
    half, most = live.meter.latency(0.5), live.meter.latency(0.99)
    return {
        "rows_in": topology.rows_in(live),
        "rows_out": live.meter.rows,
        "in_per_s": round(sum(feed.meter.rate(now) for feed in feeds), 1),
        "out_per_s": round(live.meter.rate(now), 1),
        "p50_ms": None if half is None else round(half * 1000, 1),
        "p99_ms": None if most is None else round(most * 1000, 1),
        "queued_rows": sum(train.rows.count for train in waiting),
        "queued_bytes": sum(train.info.size for train in waiting),
        "late_rows": topology.late_rows(live),
    }


def _stream_rows(system: System) -> list[dict[str, Any]]:
    return [_stream_row(system, each) for each in system.directory.streams()]


def _table_rows(system: System) -> list[dict[str, Any]]:
    return [_table_row(system, each) for each in system.directory.tables()]


def _stream_row(system: System, known: KnownStream) -> dict[str, Any]:
    feed = system.topology.feeds[key(known.scan)]
    buffer = system.topology.buffers.open(feed.key, known.definition.schema)
    figures = buffer.figures()
    archive = system.topology.archives.get(feed.key)
    cause = feed.cause or (archive.trouble if archive is not None else "")
    state = "FAILED" if feed.cause else "ENDED" if feed.ended else "IDLE" if feed.idle else "OPEN"
    return {
        "stream": known.definition.name,
        "source": known.definition.source.name,
        "state": state,
        "trains": feed.number,
        "rows": feed.rows,
        "rows_per_s": round(feed.meter.rate(system.clock.now()), 1),
        "rejected": feed.rejected,
        "queued_rows": figures.rows,
        "memory_bytes": figures.memory_bytes,
        "disk_bytes": figures.disk_bytes,
        "watermark": feed.watermark if abs(feed.watermark) < SHOWN_TIME else None,
        "archived_rows": archive.rows if archive is not None else 0,
        "archived_bytes": archive.size if archive is not None else 0,
        "history_from": system.topology.history_from(known.scan),
        "cause": cause.partition("\n")[0],
    }


def _table_row(system: System, known: KnownTable) -> dict[str, Any]:
    live = system.tables.of(known.definition.name, known.incarnation)
    return {
        "table": known.definition.name,
        "source": known.definition.source.name,
        "columns": len(known.schema),
        "rows": live.rows,
        "version": live.version,
        "read_at": round(live.read_at * 1e6),
        "cause": live.cause.partition("\n")[0],
    }


VIEWS = {
    "events": View(EVENT_COLUMNS, event_rows),
    "functions": View(FUNCTION_COLUMNS, lambda system: system.functions.rows()),
    "load": View(LOAD_COLUMNS, load_rows),
    "operators": View(OPERATOR_COLUMNS, operator_rows),
    "properties": View(PROPERTY_COLUMNS, property_rows),
    "qos": View(QOS_COLUMNS, qos_rows),
    "queries": View(QUERY_COLUMNS, _query_rows),
    "rules": View(RULE_COLUMNS, rule_rows),
    "sharing": View(SHARING_COLUMNS, sharing_rows),
    "sites": View(SITE_COLUMNS, lambda system: site_rows(system, None)),
    "strategy": View(STRATEGY_COLUMNS, strategy_rows),
    "streams": View(STREAM_COLUMNS, _stream_rows),
    "tables": View(TABLE_COLUMNS, _table_rows),
    "types": View(TYPE_COLUMNS, lambda system: type_rows(system.types)),
}
