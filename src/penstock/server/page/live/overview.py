"""The figures over everything: those in the first row of the page, and those of the system."""

from collections.abc import Iterable

from penstock.runtime.views.view import Row
from penstock.server.page.live.sample import Sample

Point = tuple[float, float | None, float | None, float, int, float | None]


def overview(now: Sample, checkpoint_at: float | None) -> Row:
    """Return the figures; of delays and lags those of the worst, with its name."""
    queries, streams, rules = now.queries.values(), now.streams.values(), now.rules.values()
    delay, delay_query = _worst((row.get("delay_p99_ms"), row["query"]) for row in queries)
    lag, lag_stream = _worst(
        (row["lag_s"], row["stream"]) for row in streams if row["state"] == "OPEN"
    )
    verdicts = [row["verdict"] for row in queries if row.get("verdict")]
    return {
        **now.system,
        **now.load,
        "rows_per_s": round(sum(row["rows_per_s"] for row in streams), 1),
        "delay_p99_ms": delay,
        "delay_query": delay_query,
        "lag_s": lag,
        "lag_stream": lag_stream,
        "promised": len(verdicts),
        "kept": verdicts.count("kept"),
        "broken": verdicts.count("broken"),
        "warming": verdicts.count("warming"),
        "streams": len(now.streams),
        "queries": len(now.queries),
        "units": len(now.units),
        "rules": len(now.rules),
        "fired": sum(row.get("fired") or 0 for row in rules),
        "dead": sum(row.get("dead") or 0 for row in rules),
        "archived_rows": sum(row["archived_rows"] for row in streams),
        "archived_bytes": sum(row["archived_bytes"] for row in streams),
        "checkpoint_at": checkpoint_at,
    }


def point(at: float, told: Row) -> Point:
    """Return what the curves of the first row are made of."""
    return (
        round(at, 1),
        told["rows_per_s"],
        told["delay_p99_ms"],
        told["load"],
        told["broken"],
        told["lag_s"],
    )


def _worst(found: Iterable[tuple[float | None, str]]) -> tuple[float | None, str]:
    known = [(value, name) for value, name in found if value is not None]
    return max(known, default=(None, ""))
