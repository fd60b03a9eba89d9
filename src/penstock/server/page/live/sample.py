"""One sample of a running system: tables of figures, and the figures over all of them.

Nothing rests for it: counters are read while they change, so figures of one sample may be some
milliseconds apart. Times are seconds since 1970, in UTC.
"""

import resource
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from penstock.engine.states.events.detect import DetectState, EventsState
from penstock.engine.states.tuples.gate import GateState
from penstock.plan.operators import key
from penstock.runtime.quality.live_figures import lag_of
from penstock.runtime.quality.statistics import queue_of
from penstock.runtime.views.inspected import Inspected
from penstock.runtime.views.relations.contracts import CONTRACTS, LOAD, QOS
from penstock.runtime.views.relations.events import detect_of
from penstock.runtime.views.relations.queries import QUERIES
from penstock.runtime.views.relations.rules import RULES
from penstock.runtime.views.relations.streams import STREAMS
from penstock.runtime.views.view import Row, first_line

Table = Mapping[str, Row]  # rows by name

MICROSECONDS = 1e6
# What system.qos says of a query beside system.queries; its p99 is that of the contract.
OF_PROMISE = ("verdict", "error_p95", "shed_rows", "shed_at", "suspended_since")
OF_CONTRACT = ("max_latency_ms", "max_error", "weight")


@dataclass(frozen=True, slots=True)
class Sample:
    """What was seen at a moment; units by their whole keys, all else by its name."""

    at: float
    streams: Table
    queries: Table
    units: Table
    rules: Table
    events: Table
    load: Row
    system: Row

    def tables(self) -> dict[str, Table]:
        """Return the tables by their names."""
        return {
            "streams": self.streams,
            "queries": self.queries,
            "units": self.units,
            "rules": self.rules,
            "events": self.events,
        }

    def shape(self) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
        """Return what the graph is made of; where it is equal, the graph is the same."""
        running = (name for name, row in self.queries.items() if row["state"] == "RUNNING")
        return frozenset(self.units), frozenset(running), frozenset(self.streams)


def sample(of: Inspected) -> Sample:
    """Return the figures of now."""
    now = of.clock.now()
    units = dict(_units(of, now))
    (load,) = LOAD.rows(of)
    return Sample(
        now,
        {row["stream"]: row for row in _streams(of, now)},
        {row["query"]: row for row in _queries(of)},
        units,
        {row["rule"]: row for row in RULES.rows(of)},
        dict(_events(of)),
        load,
        _system(of),
    )


def _streams(of: Inspected, now: float) -> Iterator[Row]:
    """Yield the rows of `system.streams`, with lag and slack in seconds and the time column."""
    known = {each.definition.name: each for each in of.directory.streams()}
    for row in STREAMS.rows(of):
        stream = known.get(row["stream"])
        live = stream and of.topology.source_readers.get(key(stream.scan))
        times = [each.column for each in stream.scan.times] if stream else []
        watermark, slack = row["watermark"], live.definition.slack if live else None
        yield {name: row[name] for name in row if name != "history_from"} | {
            "watermark": None if watermark is None else watermark / MICROSECONDS,
            "lag_s": _rounded(lag_of(live, now)) if live else None,
            "slack_s": slack.total_seconds() if isinstance(slack, timedelta) else 0.0,
            "time": times[0] if times else "",
        }


def _queries(of: Inspected) -> Iterator[Row]:
    """Yield the rows of `system.queries`, with what was promised and what became of it."""
    promises = {row["query"]: row for row in QOS.rows(of)}
    contracts = {row["query"]: row for row in CONTRACTS.rows(of)}
    sinks = {each.definition.name: each.definition.sink for each in of.directory.queries()}
    for row in QUERIES.rows(of):
        name = row["query"]
        promise, contract, sink = promises.get(name), contracts.get(name, {}), sinks.get(name)
        told = {each: contract.get(each) for each in OF_CONTRACT}
        if promise is not None:
            told |= {each: promise[each] for each in OF_PROMISE}
            told["contract_p99_ms"] = promise["p99_ms"]
        yield row | told | {"sink": "" if sink is None else sink.name}


def _events(of: Inspected) -> Iterator[tuple[str, Row]]:
    """Yield how often each composite event has been detected, in whatever mode, and by what."""
    states = [live.state for live in list(of.topology.units.values())]
    found: dict[str, int] = {}
    for state in states:
        if isinstance(state, DetectState | EventsState):
            found |= state.detection.found
    for known in of.directory.events():
        detects = {key(detect) for detect in map(detect_of, list(known.bound.values())) if detect}
        counts = [found[each] for each in detects if each in found]
        if counts:
            name = known.definition.name
            yield name, {"event": name, "detections": sum(counts), "nodes": sorted(detects)}


def _units(of: Inspected, now: float) -> Iterator[tuple[str, Row]]:
    """Yield what every unit has done, by its key, and what waits before it."""
    topology = of.topology
    for name, live in list(topology.units.items()):
        queue = queue_of(topology, live, now)
        yield (
            name,
            {
                "runs": live.runs,
                "rows_in": live.rows_in,
                "rows_out": live.rows_out,
                "busy_s": round(live.busy_seconds, 3),
                "queued_rows": queue.rows,
                "oldest_s": round(queue.age, 1),
                "memory_bytes": live.state_bytes,
                "cause": first_line(live.cause),
                "keep": _keep(live.state),
            },
        )


def _keep(state: object) -> float | None:
    return round(state.keep, 3) if isinstance(state, GateState) else None


def _system(of: Inspected) -> Row:
    """Return what there is once."""
    control, checkpoint = of.supervisor.control, of.topology.checkpoint
    figures = [buffer.figures() for buffer in of.topology.buffers]
    return {
        "strategy": control.text(),
        "batching": control.batching.text(),
        "slots": of.supervisor.slots,
        "queued_rows": sum(each.rows for each in figures),
        "memory_bytes": sum(each.memory_bytes for each in figures),
        "disk_bytes": sum(each.disk_bytes for each in figures),
        "driver_bytes": driver_bytes(),
        "checkpoint": 0 if checkpoint is None else checkpoint.number,
    }


def driver_bytes() -> int:
    """Return the memory of this process; the most that it had, where only that is known."""
    with suppress(OSError, ValueError, IndexError):
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * resource.getpagesize()
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 1)
