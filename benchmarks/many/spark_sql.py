"""Queries in Spark SQL: Structured Streaming runs it in append mode, a batch as it is."""

from benchmarks.many.conditions import aggregates, conjunction, key
from benchmarks.many.queries import Query, StreamJoin, TableJoinAggregate, Window, WindowAggregate

BOUNDS = "window.start AS window_start, window.end AS window_end"


def select(query: Query) -> str:
    """Return the query's SELECT."""
    match query:
        case WindowAggregate():
            return _aggregate(query)
        case TableJoinAggregate():
            where = " AND ".join(
                [f"t.mph > r.speed_limit + {query.over_limit}", *conjunction(query.where, "t.")]
            )
            return (
                f"SELECT {BOUNDS}, r.region, count(*) AS cars, max(t.mph) AS max_mph "
                f"FROM traffic AS t JOIN roads AS r ON t.road = r.road WHERE {where} "
                f"GROUP BY {_window(query.window, 't.ts')}, r.region"
            )
        case StreamJoin(seconds=seconds, severity=severity):
            span = f"INTERVAL {seconds} SECONDS"
            return (
                "SELECT t.ts, r.ts AS reported, t.car, t.mph, r.severity "
                "FROM traffic AS t JOIN reports AS r ON t.car = r.car "
                f"AND t.ts <= r.ts + {span} AND r.ts <= t.ts + {span} "
                f"WHERE r.severity >= {severity}"
            )


def _aggregate(query: WindowAggregate) -> str:
    keys = [key(name) for name in query.keys]
    shown = [f"{text} AS {name}" for text, name in zip(keys, query.keys, strict=True)]
    text = f"SELECT {', '.join([BOUNDS, *shown, *aggregates(query.aggregates)])} FROM traffic"
    if query.where:
        text += f" WHERE {' AND '.join(conjunction(query.where))}"
    text += f" GROUP BY {', '.join([_window(query.window), *keys])}"
    if query.more_than is not None:
        text += f" HAVING count(*) > {query.more_than}"
    return text


def _window(window: Window, time: str = "ts") -> str:
    return f"window({time}, '{window.size} seconds', '{window.slide} seconds')"
