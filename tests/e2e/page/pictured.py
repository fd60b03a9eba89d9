"""A server without a Spark, which tells of a system that nobody runs: for the page's looks."""

import json
import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from penstock.errors import PenstockError
from penstock.runtime.statements.result import Result
from penstock.server.access.caller import Caller
from penstock.server.configuration import resolved
from penstock.server.page.live import curves, feed
from penstock.server.page.live.sample import Sample
from penstock.server.serve import Listeners
from penstock.server.service import Service

KINDS = ("bundle", "unit")


class PicturedService(Service):
    """Answers what the page asks, of a system of so many queries, calm or in trouble.

    Without queries nothing else is there; `refusal` is what all statements are answered with.
    """

    def __init__(self, home: Path, queries: int, *, trouble: bool) -> None:
        """Serve on a free port."""
        super().__init__(resolved({"home": str(home), "http.port": 0}, {}))
        self.queries, self.trouble = queries, trouble
        self.asked: list[str] = []
        self.refusal: PenstockError | None = None

    @property
    def is_ready(self) -> bool:
        return True

    @property
    def connection(self) -> Any:
        return SimpleNamespace(system=SimpleNamespace(inspected=self))

    def script(self, caller: Caller, text: str) -> list[Result]:
        self.asked.append(text)
        if self.refusal is not None:
            raise self.refusal
        if text.startswith("EXPLAIN ALL"):
            return [Result(message=json.dumps(plan(self.queries)))]
        if "system.history" in text:
            return [Result(table=history())]
        if text.startswith("EXPLAIN"):
            return [Result(message="fuel\n  windows of 4 s every 4 s by ts group by `road`")]
        if text.startswith(("SELECT", "DESCRIBE", "SHOW")):
            return [Result(table=pa.table({"road": ["north", "<b>south</b>"], "cars": [4, 1200]}))]
        return [Result(message="done")]


def plan(queries: int) -> dict[str, Any]:
    """Return a plan of two streams and bundles of the queries over them."""
    if not queries:
        return {"streams": [], "units": [], "queries": []}
    names = [f"query_{n:04}" for n in range(queries)]
    half = len(names) // 2 + 1
    units = [
        _unit("a" * 16, "n1", names[:half], "windows of 4 s every 4 s by ts group by `road`"),
        _unit("b" * 16, "n2", names[half:], "filter (`celsius` > 30)"),
    ]
    return {
        "streams": [{"name": "cars", "node": "n1"}, {"name": "house", "node": "n2"}],
        "units": units,
        "queries": [
            {"name": name, "node": unit["gives"][n]}
            for unit in units
            for n, name in enumerate(unit["queries"])
        ],
    }


def _unit(key: str, reads: str, names: Sequence[str], text: str) -> dict[str, Any]:
    return {
        "unit": key,
        "kind": "bundle",
        "reads": [reads],
        "gives": [f"{key[0]}{n}" for n in range(len(names))],
        "operators": [{"node": key, "text": text}],
        "queries": list(names),
        "runs": f"unit {key[:6]} reads the trains of {reads}\n  each train:  SELECT `road` FROM t",
    }


def history() -> pa.Table:
    """Return two minutes of samples."""
    now = time.time()
    at = [round((now - 120 + 2 * n) * 1e6) for n in range(60)]
    wave = [100 + 50 * math.sin(n / 8) for n in range(60)]
    return pa.table(
        {
            "at": pa.array(at, pa.timestamp("us", "UTC")),
            **dict.fromkeys(("in_per_s", "out_per_s", "latency_ms", "delay_ms"), wave),
            "queued_rows": [n % 7 for n in range(60)],
            "memory_bytes": [1_000_000 + 40_000 * n for n in range(60)],
        }
    )


def seen(of: PicturedService) -> Sample:
    """Return a sample of the pictured system."""
    now = time.time()
    phase = math.sin(now / 5)
    streams = {name: _stream(name, now, phase) for name in ("cars", "house")}
    queries = {f"query_{n:04}": _query(n, phase) for n in range(of.queries)}
    rules = {"call_police": _rule()}
    if not of.queries:
        streams, rules = {}, {}
    if of.trouble:
        _spoil(streams, queries, rules)
    busy = {
        "runs": int(now), "rows_in": int(now * 900), "rows_out": int(now * 40),
        "busy_s": now * 0.6, "queued_rows": 40, "oldest_s": 12.0 if of.trouble else 0.1,
        "memory_bytes": 3_000_000, "cause": "", "keep": None,
    }  # fmt: skip
    load = {
        "slots": 2, "load": 0.4, "needed": 0.4, "waits_s": 0.2,
        "needed_soon": 1.3 if of.trouble else 0.45,
        "gates": 1, "gates_shut": int(of.trouble), "changes": 0, "short": 0.0, "suspended": 0,
    }  # fmt: skip
    system = {
        "strategy": "round_robin", "batching": "everything", "slots": 2, "queued_rows": 80,
        "memory_bytes": 6_400_000, "disk_bytes": 0, "driver_bytes": 812_000_000, "checkpoint": 3,
    }  # fmt: skip
    units = {"a" * 16: busy, "b" * 16: busy} if of.queries else {}
    jam = {"event": "lasting_jam", "detections": int(now), "nodes": ["d" * 16]}
    events = {"lasting_jam": jam} if of.queries else {}
    return Sample(now, streams, queries, units, rules, events, load, system)


def _stream(name: str, now: float, phase: float) -> dict[str, Any]:
    return {
        "stream": name, "source": "push", "state": "OPEN", "trains": 40, "rows": int(now * 9),
        "rows_per_s": 1200 + 300 * phase, "rejected": 0, "queued_rows": 40,
        "memory_bytes": 3_200_000, "disk_bytes": 0, "watermark": now - 1.2, "cause": "",
        "archived_rows": 0, "archived_bytes": 0, "lag_s": 1.2, "slack_s": 1.0, "time": "ts",
    }  # fmt: skip


def _query(n: int, phase: float) -> dict[str, Any]:
    promised = n % 3 == 0
    return {
        "query": f"query_{n:04}", "state": "RUNNING", "cause": "", "rows_in": 5000,
        "rows_out": 100 + n, "in_per_s": 1200.0, "out_per_s": round(2 + phase, 1), "p50_ms": 40.0,
        "p99_ms": 900.0 + n, "delay_p50_ms": 12.0, "delay_p99_ms": round(60 + 20 * phase, 1),
        "queued_rows": 0, "queued_bytes": 0, "late_rows": 0, "sink": "",
        "max_latency_ms": 2000.0 if promised else None, "max_error": None, "weight": 1.0,
        "verdict": "kept" if promised else None,
        "contract_p99_ms": 900.0 if promised else None, "error_p95": None, "shed_rows": 0,
    }  # fmt: skip


def _rule() -> dict[str, Any]:
    return {
        "rule": "call_police", "event": "lasting_jam", "coupling": "detached", "context": "recent",
        "priority": 9, "state": "ENABLED", "cause": "", "fired": 28, "waiting": 0, "done": 28,
        "held_back": 0, "failures": 0, "dead": 0, "lost": 0,
    }  # fmt: skip


def _spoil(streams: Any, queries: Any, rules: Any) -> None:
    first, *_, second = queries
    queries[first] |= {"verdict": "broken", "max_latency_ms": 2000.0, "contract_p99_ms": 7300.0}
    held = "SINK_FAILED: no space is left on the disk of out/left"
    queries[second] |= {"state": "FAILED", "cause": held, "verdict": None}
    rules["call_police"] |= {"dead": 12, "cause": "the webhook answered 503"}
    streams["house"] |= {"lag_s": 95.0}


@contextmanager
def pictured(
    home: Path, patch: pytest.MonkeyPatch, *, queries: int = 7, trouble: bool = False
) -> Iterator[tuple[str, PicturedService]]:
    """Serve a pictured system; give its address."""
    patch.setattr(feed, "sample", seen)
    patch.setattr(curves, "EVERY_SECONDS", 0.5)  # no test waits for twenty
    service = PicturedService(home, queries, trouble=trouble)
    listeners = Listeners(service)
    listeners.start()
    try:
        yield listeners.addresses()[0], service
    finally:
        service.stop()
        listeners.stop()
        service.close()
