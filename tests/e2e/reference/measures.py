"""Aggregates in two languages, and the rows of a query that groups a window's tuples by keys."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from tests.e2e.reference import aggregates
from tests.e2e.reference.windows import Row, Window, micros, moment, partitions


@dataclass(frozen=True)
class Measure:
    """An aggregate as SQL, and over the tuples of one group in order."""

    sql: str
    of: Callable[[list[Row]], Any]


def column(rows: list[Row], name: str) -> list[Any]:
    """Return one column of the tuples."""
    return [row[name] for row in rows]


def times(rows: list[Row]) -> list[int]:
    """Return the tuples' times."""
    return [micros(row["ts"]) for row in rows]


# What any window may ask, whatever orders its tuples.
MEASURES = (
    Measure("count(*)", len),
    Measure("count(x)", lambda rows: aggregates.count(column(rows, "x"))),
    Measure("count(DISTINCT x)", lambda rows: aggregates.count_distinct(column(rows, "x"))),
    Measure("sum(x)", lambda rows: aggregates.total(column(rows, "x"))),
    Measure("sum(d)", lambda rows: aggregates.total(column(rows, "d"))),
    Measure("sum(DISTINCT x)", lambda rows: aggregates.total_distinct(column(rows, "x"))),
    Measure("avg(x)", lambda rows: aggregates.avg(column(rows, "x"))),
    Measure("avg(d)", lambda rows: aggregates.avg(column(rows, "d"))),
    Measure("min(x)", lambda rows: aggregates.least(column(rows, "x"))),
    Measure("max(w)", lambda rows: aggregates.most(column(rows, "w"))),
    Measure("max(d)", lambda rows: aggregates.most(column(rows, "d"))),
    Measure("median(x)", lambda rows: aggregates.median(column(rows, "x"))),
    Measure("percentile(x, 0.25)", lambda rows: aggregates.percentile(column(rows, "x"), 0.25)),
    Measure("collect_list(id)", lambda rows: aggregates.collect_list(column(rows, "id"))),
    Measure("collect_list(w)", lambda rows: aggregates.collect_list(column(rows, "w"))),
    Measure(
        "sort_array(collect_set(w))",
        lambda rows: sorted(aggregates.collect_set(column(rows, "w"))),
    ),
    Measure("max_by(w, x)", lambda rows: aggregates.max_by(column(rows, "w"), column(rows, "x"))),
    Measure("min_by(id, d)", lambda rows: aggregates.min_by(column(rows, "id"), column(rows, "d"))),
    Measure(
        "slice(sort_array(collect_list(x), false), 1, 3)",
        lambda rows: aggregates.top(column(rows, "x"), 3),
    ),
)
BY_TIME = (
    Measure("min(ts)", lambda rows: moment(min(times(rows)))),
    Measure("max(ts)", lambda rows: moment(max(times(rows)))),
    Measure("first(x)", lambda rows: aggregates.first(column(rows, "x"), times(rows))),
    Measure("last(w)", lambda rows: aggregates.last(column(rows, "w"), times(rows))),
)


def answers(
    windows: Iterable[Window], keys: tuple[str, ...], measures: Iterable[Measure]
) -> list[tuple[Any, ...]]:
    """Return (window start, window end, keys, measures) for every group of every window."""
    asked = list(measures)
    return [
        (start, end, *(held[0][key] for key in keys), *(each.of(held) for each in asked))
        for start, end, rows in windows
        for held in partitions(rows, keys)
    ]


def timed(found: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Return answers whose windows are spans of time with their bounds as such."""
    return [(moment(start), moment(end), *rest) for start, end, *rest in found]
