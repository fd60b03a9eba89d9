"""`system.properties`: what streams are like: how fast, how sorted, how unequal."""

import math
from collections.abc import Mapping
from dataclasses import replace

from penstock.plan.operators import Scan, key, walk
from penstock.plan.operators.graph import Graph
from penstock.qos.monitor.stream import StreamMonitor
from penstock.runtime.names.directory import Directory
from penstock.runtime.sources.stream_monitor import Watching
from penstock.runtime.topology.topology import Topology
from penstock.runtime.views.view import Row, View, columns


def property_rows(
    directory: Directory, topology: Topology, watching: Watching, now: float
) -> list[Row]:
    """Return a row for every stream; `cost` is the share of the time that all of it takes."""
    for name in [each for each in watching.counted if each not in topology.source_readers]:
        watching.forget(name)
    monitors = {
        name: replace(each, tuples=watching.counted[name])
        for name, each in list(watching.monitors.items())
    }
    lags, cost = _lags(topology.graph, monitors), watching.share(now)
    return [
        {
            "stream": known.definition.name,
            "tuples": 0,
            "cost": _figure(cost),
            **_seen(monitors.get(key(known.scan)), now),
            **lags.get(key(known.scan), {}),
        }
        for known in directory.streams()
    ]


def _seen(monitor: StreamMonitor | None, now: float) -> Row:
    if monitor is None:
        return {}
    monitor = replace(monitor, sampler=monitor.sampler.look(monitor.tuples, now))  # or in silence
    found, timed = monitor.properties(), monitor.order.tuples > 0
    return {
        "tuples": monitor.tuples,
        "looked_at": monitor.order.tuples if timed else monitor.keys.tuples,
        "rate": _figure(found.rate),
        "every_s": monitor.sampler.interval,
        "burstiness": _figure(found.burstiness),
        "scrambling": found.scrambling if timed else None,
        "multiplicity": found.multiplicity if timed else None,
        "slack_s": _figure(found.slack),
        "clock_jumps": found.clock_jumps,
        "key": monitor.key_column,
        "keys": _figure(found.keys),
        "skew": _figure(found.skew),
        "clustered": _figure(found.clustered),
    }


def _lags(graph: Graph, monitors: Mapping[str, StreamMonitor]) -> dict[str, Row]:
    """Return the stream that each is furthest ahead of, of those that it is read together with."""
    found: dict[str, Row] = {}
    for root in graph.queries.values():
        scans = {key(node): node.stream for node in walk(root) if isinstance(node, Scan)}
        known = [name for name in scans if name in monitors]
        for one in known:
            for other in (each for each in known if each != one):
                lag = monitors[one].order.lag_to(monitors[other].order)
                if lag > found.get(one, {"lag": -1})["lag"]:
                    found[one] = {"lag": lag, "lag_to": scans[other]}
    return found


def _figure(value: float) -> float | None:
    return None if math.isnan(value) else round(value, 4)


PROPERTIES = View(
    "properties",
    "what streams are like: how fast, how sorted, how unequal",
    columns(
        "stream STRING, tuples BIGINT, looked_at BIGINT, rate DOUBLE, every_s DOUBLE, "
        "burstiness DOUBLE, scrambling BIGINT, multiplicity BIGINT, slack_s DOUBLE, "
        "clock_jumps BIGINT, lag BIGINT, lag_to STRING, key STRING, keys DOUBLE, skew DOUBLE, "
        "clustered DOUBLE, cost DOUBLE"
    ),
    lambda of: property_rows(of.directory, of.topology, of.supervisor.watching, of.clock.now()),
)
