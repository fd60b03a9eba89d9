"""`system.queries` and `system.latencies`: every query, its state and its figures."""

from collections.abc import Iterator

from penstock.catalog import Catalog, CatalogEntry
from penstock.model.definitions import QueryState
from penstock.plan.operators import Scan
from penstock.qos.monitor.durations import SPANS, Durations, Span
from penstock.runtime.durable.journal import Journal
from penstock.runtime.names.directory import Directory
from penstock.runtime.quality.waiting_trains import Waits, waiting_for, waits_in
from penstock.runtime.topology.topology import Topology
from penstock.runtime.views.view import Row, View, columns, first_line
from penstock.runtime.work.live_query import READER, LiveQuery


def query_rows(
    directory: Directory, catalog: Catalog, topology: Topology, journal: Journal, now: float
) -> Iterator[Row]:
    """Yield a row for every query, last those that could not be brought back."""
    waits = waits_in(topology.buffers)
    entries = {entry.name.lower(): entry for entry in catalog.all() if entry.kind == "QUERY"}
    for known in directory.queries():
        name = known.definition.name.lower()
        row = _stated(known.definition.name, entries.pop(name, None), QueryState.RUNNING)
        live = topology.queries.get(name) or topology.finished.get(name)
        if live is not None:
            yield row | _figures(topology, live, waits, now)
        else:
            rows_out = journal.delivered_rows(f"{READER}{name}")
            yield row | {"rows_in": 0, "rows_out": rows_out, "queued_rows": 0, "late_rows": 0}
    for entry in entries.values():  # such as over a lost table
        if directory.get(entry.name) is None:
            yield _stated(entry.name, entry, QueryState.FAILED)


def _stated(name: str, entry: CatalogEntry | None, default: QueryState) -> Row:
    state, cause = (entry.state, entry.cause) if entry is not None else (None, "")
    return {"query": name, "state": str(state or default), "cause": first_line(cause)}


def _figures(topology: Topology, live: LiveQuery, waits: Waits, now: float) -> Row:
    source_readers = [
        topology.source_readers[name] for name, node in live.nodes.items() if isinstance(node, Scan)
    ]
    waiting = waiting_for(live, topology, waits)
    return {
        "rows_in": topology.rows_in(live),
        "rows_out": live.meter.rows,
        "in_per_s": round(
            sum(source_reader.meter.rate(now) for source_reader in source_readers), 1
        ),
        "out_per_s": round(live.meter.rate(now), 1),
        "p50_ms": _milliseconds(live.meter.latencies.quantile(0.5, now)),
        "p99_ms": _milliseconds(live.meter.latencies.quantile(0.99, now)),
        "delay_p50_ms": _milliseconds(live.meter.delays.quantile(0.5, now)),
        "delay_p99_ms": _milliseconds(live.meter.delays.quantile(0.99, now)),
        "queued_rows": waiting.rows,
        "queued_bytes": waiting.size,
        "late_rows": topology.late_rows(live),
    }


def latency_rows(topology: Topology, now: float) -> Iterator[Row]:
    """Yield a row for every query and span in which it delivered something."""
    for live in [*list(topology.queries.values()), *list(topology.finished.values())]:
        for span in SPANS:
            if rows := live.meter.latencies.weight(now, span):
                yield {
                    "query": live.name,
                    "over": span.name,
                    "rows": round(rows),
                    **_quantiles("latency", live.meter.latencies, span, now),
                    **_quantiles("delay", live.meter.delays, span, now),
                }


def _quantiles(name: str, durations: Durations, span: Span, now: float) -> Row:
    shares = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
    return {
        f"{name}_{called}_ms": _milliseconds(durations.quantile(share, now, span))
        for called, share in shares.items()
    }


def _milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds * 1000, 1)


QUERIES = View(
    "queries",
    "queries, their states and their figures",
    columns(
        "query STRING, state STRING, rows_in BIGINT, rows_out BIGINT, in_per_s DOUBLE, "
        "out_per_s DOUBLE, p50_ms DOUBLE, p99_ms DOUBLE, delay_p50_ms DOUBLE, "
        "delay_p99_ms DOUBLE, queued_rows BIGINT, queued_bytes BIGINT, late_rows BIGINT, "
        "cause STRING"
    ),
    lambda of: query_rows(of.directory, of.catalog, of.topology, of.journal, of.clock.now()),
)
LATENCIES = View(
    "latencies",
    "how long the rows of queries took, over the last minute, the last ten, and since the start",
    columns(
        "query STRING, over STRING, rows BIGINT, latency_p50_ms DOUBLE, latency_p95_ms DOUBLE, "
        "latency_p99_ms DOUBLE, delay_p50_ms DOUBLE, delay_p95_ms DOUBLE, delay_p99_ms DOUBLE"
    ),
    lambda of: latency_rows(of.topology, of.clock.now()),
)
