"""Queries in Penstock's SQL."""

from collections.abc import Iterable

from benchmarks.many.conditions import aggregates, conjunction, key
from benchmarks.many.load import SCHEMAS, SLACK_SECONDS, Load
from benchmarks.many.queries import Query, StreamJoin, TableJoinAggregate, Window, WindowAggregate


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
                "SELECT window_start, window_end, r.region, count(*) AS cars, "
                "max(t.mph) AS max_mph "
                f"FROM traffic {_window(query.window)} AS t JOIN roads AS r ON t.road = r.road "
                f"WHERE {where} GROUP BY r.region"
            )
        case StreamJoin(seconds=seconds, severity=severity):
            window = f"[RANGE {seconds} SECONDS]"
            return (
                "SELECT t.ts, r.ts AS reported, t.car, t.mph, r.severity "
                f"FROM traffic {window} AS t JOIN reports {window} AS r ON t.car = r.car "
                f"WHERE r.severity >= {severity}"
            )


def create(query: Query) -> str:
    """Return the statement that makes the query stand."""
    return f"CREATE QUERY {query.name} AS {select(query)};\n"


def streams(load: Load, *, bounded: bool = True) -> str:
    """Return the streams and the table, over a load's files; without bounds more may come."""
    made = [
        f"CREATE STREAM {name} ({columns}) TIMESTAMP BY ts SLACK INTERVAL {SLACK_SECONDS} SECONDS "
        f"FROM files(path => '{load.path / name}', format => 'parquet', files_per_train => 1, "
        f"bounded => {str(bounded).lower()});\n"
        for name, columns in SCHEMAS.items()
    ]
    return "".join(made) + table(load)


def pushed_streams(load: Load) -> str:
    """Return the streams, to be pushed, and the table."""
    made = [
        f"CREATE STREAM {name} ({columns}) TIMESTAMP BY ts SLACK INTERVAL 0 SECONDS FROM push();\n"
        for name, columns in SCHEMAS.items()
    ]
    return "".join(made) + table(load)


def table(load: Load) -> str:
    """Return the table's statement."""
    return f"CREATE TABLE roads FROM files(path => '{load.roads}', format => 'parquet');\n"


def script(queries: Iterable[Query], load: Load, *, bounded: bool = True) -> str:
    """Return streams and queries as one script."""
    return streams(load, bounded=bounded) + "".join(map(create, queries))


def _aggregate(query: WindowAggregate) -> str:
    keys = [key(name) for name in query.keys]
    shown = [f"{text} AS {name}" for text, name in zip(keys, query.keys, strict=True)]
    told = ", ".join(["window_start", "window_end", *shown, *aggregates(query.aggregates)])
    text = f"SELECT {told} FROM traffic {_window(query.window)}"
    if query.where:
        text += f" WHERE {' AND '.join(conjunction(query.where))}"
    if keys:
        text += f" GROUP BY {', '.join(keys)}"
    if query.more_than is not None:
        text += f" HAVING count(*) > {query.more_than}"
    return text


def _window(window: Window) -> str:
    slide = "" if window.slide == window.size else f" SLIDE {window.slide} SECONDS"
    return f"[RANGE {window.size} SECONDS{slide}]"
