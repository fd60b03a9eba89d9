"""`system.history`: samples of streams and queries over the last minutes, for curves."""

from collections.abc import Iterable, Iterator

from penstock.runtime.quality.samples import Sample
from penstock.runtime.views.view import Row, View, columns


def history_rows(samples: Iterable[Sample]) -> Iterator[Row]:
    """Yield a row for every sample, the oldest first."""
    for sample in samples:
        counters = sample.counters
        yield {
            "at": round(sample.at * 1e6),
            "kind": counters.kind,
            "name": counters.name,
            "rows_in": counters.rows_in,
            "rows_out": counters.rows_out,
            "in_per_s": _rounded(sample.in_per_second),
            "out_per_s": _rounded(sample.out_per_second),
            "latency_ms": _milliseconds(sample.latency),
            "delay_ms": _milliseconds(sample.delay),
            "queued_rows": counters.waiting_rows,
            "memory_bytes": counters.memory_bytes,
        }


def _rounded(rate: float | None) -> float | None:
    return None if rate is None else round(rate, 1)


def _milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds * 1000, 1)


HISTORY = View(
    "history",
    "streams and queries over the last ten minutes, every two seconds where they are few",
    columns(
        "at TIMESTAMP, kind STRING, name STRING, rows_in BIGINT, rows_out BIGINT, "
        "in_per_s DOUBLE, out_per_s DOUBLE, latency_ms DOUBLE, delay_ms DOUBLE, "
        "queued_rows BIGINT, memory_bytes BIGINT"
    ),
    lambda of: history_rows(of.supervisor.samples),
)
