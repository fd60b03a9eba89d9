"""Samples of a system that nobody runs, for the tests of the feed."""

from collections.abc import Mapping
from typing import Any

from penstock.server.page.live.sample import Sample

STREAM = {
    "state": "OPEN", "rows_per_s": 10.0, "rejected": 0, "cause": "", "lag_s": 1.0,
    "slack_s": 1.0, "archived_rows": 0, "archived_bytes": 0,
}  # fmt: skip
QUERY = {
    "state": "RUNNING", "cause": "", "late_rows": 0, "delay_p99_ms": 5.0, "verdict": None,
    "p50_ms": None, "p99_ms": None, "max_latency_ms": None, "contract_p99_ms": None,
    "max_error": None, "error_p95": None,
}  # fmt: skip
UNIT = {
    "runs": 1, "rows_in": 0, "rows_out": 0, "busy_s": 0.0, "queued_rows": 0, "oldest_s": 0.0,
    "memory_bytes": 0, "cause": "", "keep": None,
}  # fmt: skip
RULE = {"state": "ENABLED", "cause": "", "fired": 0, "dead": 0}
LOAD = {"slots": 2, "load": 0.1, "needed_soon": 0.1, "waits_s": 0.0, "gates": 0, "gates_shut": 0}
SYSTEM = {"strategy": "round_robin", "checkpoint": 1, "queued_rows": 0}

Rows = Mapping[str, Mapping[str, Any]]


def seen(
    at: float,
    *,
    streams: Rows | None = None,
    queries: Rows | None = None,
    units: Rows | None = None,
    rules: Rows | None = None,
    events: Rows | None = None,
    load: Mapping[str, Any] | None = None,
    system: Mapping[str, Any] | None = None,
) -> Sample:
    """Return a sample in which all is well but what is named."""
    return Sample(
        at,
        {name: {"stream": name, **STREAM, **row} for name, row in (streams or {}).items()},
        {name: {"query": name, **QUERY, **row} for name, row in (queries or {}).items()},
        {name: {**UNIT, **row} for name, row in (units or {}).items()},
        {name: {"rule": name, **RULE, **row} for name, row in (rules or {}).items()},
        {name: {"event": name, **row} for name, row in (events or {}).items()},
        {**LOAD, **(load or {})},
        {**SYSTEM, **(system or {})},
    )
