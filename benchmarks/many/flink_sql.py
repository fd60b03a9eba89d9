"""Queries in Flink SQL: window table functions, an interval join, a temporal join with the table.

The table is a log of its versions (all of them older than the streams), because that is the join
with a table after which Flink still knows event time.
"""

from collections.abc import Sequence
from pathlib import Path

from benchmarks.many.conditions import EXPRESSIONS, aggregates, conjunction, key
from benchmarks.many.load import SLACK_SECONDS
from benchmarks.many.queries import (
    Query,
    StreamJoin,
    TableJoinAggregate,
    Type,
    Window,
    WindowAggregate,
)

COLUMNS = {
    "traffic": "car STRING, road INT, lane INT, `type` STRING, mph DOUBLE, weight INT",
    "reports": "car STRING, severity INT",
}
TYPES: dict[Type, str] = {
    "time": "TIMESTAMP(3)",
    "text": "STRING",
    "int": "BIGINT",
    "double": "DOUBLE",
}
# A sum of INT is an INT in Flink; the others widen it.
WIDENED = {**EXPRESSIONS, "sum_weight": "sum(CAST(weight AS BIGINT))"}


def sources(path: Path, form: str) -> list[str]:
    """Return the statements that make the streams and the table, over one file each."""
    made = [
        f"CREATE TABLE {name} (millis BIGINT, {columns}, "
        "ts AS CAST(TO_TIMESTAMP_LTZ(millis, 3) AS TIMESTAMP(3)), "
        f"WATERMARK FOR ts AS ts - INTERVAL '{SLACK_SECONDS}' SECOND) "
        f"WITH ({_files(path / name, form)})"
        for name, columns in COLUMNS.items()
    ]
    return [
        *made,
        "CREATE TABLE road_log (road INT, region STRING, speed_limit INT, "
        "since AS CAST(TO_TIMESTAMP_LTZ(CAST(0 AS BIGINT) * road, 3) AS TIMESTAMP(3)), "
        f"WATERMARK FOR since AS since) WITH ({_files(path / 'roads', form)})",
        "CREATE TEMPORARY VIEW roads AS SELECT road, region, speed_limit, since FROM ("
        "SELECT *, ROW_NUMBER() OVER (PARTITION BY road ORDER BY since DESC) AS place "
        "FROM road_log) WHERE place = 1",
        "CREATE TEMPORARY VIEW on_roads AS SELECT t.ts, t.lane, t.`type`, t.mph, t.weight, "
        "r.region, r.speed_limit FROM traffic AS t "
        "JOIN roads FOR SYSTEM_TIME AS OF t.ts AS r ON t.road = r.road",
    ]


def sink(query: Query, directory: Path | None) -> str:
    """Return the statement that makes a query's sink: files, or nothing at all."""
    columns = ", ".join(f"`{name}` {TYPES[kind]}" for name, kind in query.columns.items())
    if directory is None:
        options = "'connector' = 'blackhole'"
    else:
        options = _files(directory / query.name, "csv")
    return f"CREATE TABLE out_{query.name} ({columns}) WITH ({options})"


def insert(query: Query) -> str:
    """Return the statement of the set that runs the query."""
    return f"INSERT INTO out_{query.name} {select(query)}"


def select(query: Query) -> str:
    """Return the query's SELECT."""
    match query:
        case WindowAggregate():
            return _aggregate(query)
        case TableJoinAggregate():
            where = " AND ".join(
                [f"mph > speed_limit + {query.over_limit}", *_quoted(conjunction(query.where))]
            )
            return (
                "SELECT window_start, window_end, region, count(*) AS cars, max(mph) AS max_mph "
                f"FROM {_window(query.window, 'on_roads')} WHERE {where} "
                "GROUP BY window_start, window_end, region"
            )
        case StreamJoin(seconds=seconds, severity=severity):
            span = f"INTERVAL '{seconds}' SECOND"
            return (
                "SELECT CAST(t.ts AS TIMESTAMP(3)) AS ts, CAST(r.ts AS TIMESTAMP(3)) AS reported, "
                "t.car, t.mph, r.severity "
                "FROM traffic AS t, reports AS r WHERE t.car = r.car "
                f"AND t.ts BETWEEN r.ts - {span} AND r.ts + {span} AND r.severity >= {severity}"
            )


def _aggregate(query: WindowAggregate) -> str:
    keys = _quoted([key(name) for name in query.keys])
    shown = [f"{text} AS `{name}`" for text, name in zip(keys, query.keys, strict=True)]
    told = ["window_start", "window_end", *shown, *aggregates(query.aggregates, WIDENED)]
    text = f"SELECT {', '.join(told)} FROM {_window(query.window, 'traffic')}"
    if query.where:
        text += f" WHERE {' AND '.join(_quoted(conjunction(query.where)))}"
    text += f" GROUP BY {', '.join(['window_start', 'window_end', *keys])}"
    if query.more_than is not None:
        text += f" HAVING count(*) > {query.more_than}"
    return text


def _window(window: Window, name: str) -> str:
    size = f"INTERVAL '{window.size}' SECOND"
    if window.size == window.slide:
        return f"TABLE(TUMBLE(TABLE {name}, DESCRIPTOR(ts), {size}))"
    return f"TABLE(HOP(TABLE {name}, DESCRIPTOR(ts), INTERVAL '{window.slide}' SECOND, {size}))"


def _quoted(texts: Sequence[str]) -> list[str]:
    """Return texts with the column `type` as a name: it is a keyword here."""
    return ["`type`" + text[4:] if text.startswith("type") else text for text in texts]


def _files(path: Path, form: str) -> str:
    return f"'connector' = 'filesystem', 'path' = '{path.as_uri()}', 'format' = '{form}'"
