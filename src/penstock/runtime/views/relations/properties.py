"""SHOW PROPERTIES: what streams are like: how fast, how sorted, how unequal."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa

from penstock.plan.operators import Scan, key, walk
from penstock.qos.monitor.stream import StreamMonitor
from penstock.runtime.system.system import System

PROPERTY_COLUMNS = pa.schema(
    [
        ("stream", pa.string()),
        ("tuples", pa.int64()),
        ("looked_at", pa.int64()),
        ("rate", pa.float64()),
        ("every_s", pa.float64()),
        ("burstiness", pa.float64()),
        ("scrambling", pa.int64()),
        ("multiplicity", pa.int64()),
        ("slack_s", pa.float64()),
        ("clock_jumps", pa.int64()),
        ("lag", pa.int64()),
        ("lag_to", pa.string()),
        ("key", pa.string()),
        ("keys", pa.float64()),
        ("skew", pa.float64()),
        ("clustered", pa.float64()),
        ("cost", pa.float64()),
    ]
)


def property_rows(system: System) -> list[dict[str, Any]]:
    """Return a row for every stream; `cost` is the share of the time that all of it takes."""
    watching, topology = system.supervisor.watching, system.topology
    for name in [each for each in watching.counted if each not in topology.feeds]:
        watching.forget(name)
    monitors = {
        name: replace(each, tuples=watching.counted[name])
        for name, each in list(watching.monitors.items())
    }
    now = system.clock.now()
    lags, cost = _lags(system, monitors), watching.share(now)
    return [
        {
            "stream": known.definition.name,
            "tuples": 0,
            "cost": _figure(cost),
            **_seen(monitors.get(key(known.scan)), now),
            **lags.get(key(known.scan), {}),
        }
        for known in system.directory.streams()
    ]


def _seen(monitor: StreamMonitor | None, now: float) -> dict[str, Any]:
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


def _lags(system: System, monitors: Mapping[str, StreamMonitor]) -> dict[str, dict[str, Any]]:
    """Return the stream that each is furthest ahead of, of those that it is read together with."""
    found: dict[str, dict[str, Any]] = {}
    for root in list(system.topology.graph.queries.values()):
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
