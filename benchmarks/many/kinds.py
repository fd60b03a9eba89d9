"""Seeded sets of queries, of five kinds.

Every window ends at each whole minute, too: sizes are multiples of slides that divide a minute.
So any two systems that have answered up to the same minute have done the same work.
"""

import random
from collections.abc import Callable, Sequence

from benchmarks.many.queries import (
    AGGREGATES,
    KEYS,
    Condition,
    Query,
    StreamJoin,
    TableJoinAggregate,
    Window,
    WindowAggregate,
)

LONGEST_SECONDS = 60
SLIDES = (1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30, 60)
TYPES = ("Car", "Truck", "Bus", "Bike")
ROADS, LANES = 10, 4
TUMBLING = Window(10, 10)
HAVING_SHARE = 0.2  # of the threshold queries have theirs in HAVING
Make = Callable[[random.Random, str], Query]


def other_windows(draw: random.Random, name: str) -> Query:
    """Return a query of the kind "same keys, other windows"."""
    slide = draw.choice(SLIDES)
    size = slide * draw.randint(1, LONGEST_SECONDS // slide)
    return WindowAggregate(name, Window(size, slide), ("road",), _aggregates(draw))


def other_predicates(draw: random.Random, name: str) -> Query:
    """Return a query of the kind "same window, other predicates"."""
    columns = draw.sample(("type", "mph", "road", "lane", "weight"), draw.randint(1, 3))
    where = tuple(_condition(draw, column) for column in columns)
    return WindowAggregate(name, TUMBLING, ("lane",), ("cars", "avg_mph"), where)


def other_keys(draw: random.Random, name: str) -> Query:
    """Return a query of the kind "other keys"."""
    keys = tuple(key for key in KEYS if draw.random() < 0.5)
    return WindowAggregate(name, TUMBLING, keys, _aggregates(draw))


def thresholds(draw: random.Random, name: str) -> Query:
    """Return a query that differs from its like in one constant only."""
    if draw.random() < HAVING_SHARE:
        least = round(10 ** draw.uniform(0, 3.5))  # small and large loads answer some
        return WindowAggregate(name, TUMBLING, ("road",), ("cars", "max_mph"), more_than=least)
    where = (Condition("mph", ">", (round(draw.uniform(20, 80), 3),)),)
    return WindowAggregate(name, TUMBLING, ("road",), ("cars", "max_mph"), where)


def table_joins(draw: random.Random, name: str) -> Query:
    """Return a query that joins the table of roads."""
    where = (_condition(draw, draw.choice(("type", "lane"))),)
    return TableJoinAggregate(name, draw.choice((TUMBLING, Window(20, 20))), 0, where)


def stream_joins(draw: random.Random, name: str) -> Query:
    """Return a join of two streams; many share its window, and differ above it."""
    return StreamJoin(name, draw.choice((2, 5)), draw.randint(1, 4))


# Mostly aggregates; both joins come early, so that six queries have them.
MIXTURE: Sequence[Make] = (
    *(other_windows, other_predicates, other_keys, thresholds, table_joins, stream_joins),
    *(other_windows, other_predicates, other_keys, thresholds) * 2,
    *(other_windows, other_predicates, other_keys, thresholds, table_joins),
    *(other_windows, other_predicates, other_keys, thresholds),
    *(other_windows, other_predicates),
)
KINDS: dict[str, Sequence[Make]] = {
    "windows": (other_windows,),
    "predicates": (other_predicates,),
    "keys": (other_keys,),
    "thresholds": (thresholds,),
    "mixed": MIXTURE,
}


def query_set(kind: str, count: int, seed: int = 4) -> tuple[Query, ...]:
    """Return so many queries of a kind; a larger set begins with the smaller one."""
    makers, draw = KINDS[kind], random.Random(f"{kind} {seed}")
    return tuple(makers[n % len(makers)](draw, f"q{n:04d}") for n in range(count))


def _aggregates(draw: random.Random) -> tuple[str, ...]:
    chosen = draw.sample(list(AGGREGATES), draw.randint(1, 3))
    return tuple(name for name in AGGREGATES if name in chosen)


def _condition(draw: random.Random, column: str) -> Condition:
    match column:
        case "type":
            return Condition("type", "=", (draw.choice(TYPES),))
        case "lane":
            return Condition("lane", "=", (draw.randrange(LANES),))
        case "road":
            roads = draw.sample(range(ROADS), draw.randint(1, 4))
            return Condition("road", "IN", tuple(sorted(roads)))
        case "weight":
            low = draw.randint(500, 20_000)
            return Condition("weight", "BETWEEN", (low, low + draw.randint(1_000, 20_000)))
        case _:
            return Condition("mph", draw.choice(("<", ">")), (round(draw.uniform(20, 80), 2),))
