"""Small plans for the tests of bundles."""

from penstock.model.schema import Column, Schema
from penstock.plan.algebra.aggregates import Aggregate
from penstock.plan.operators import EventTime, Filter, Operator, Project, Scan, WindowAggregate
from penstock.plan.operators.windows.window_assigner import spans

SECOND = 1_000_000
SCHEMA = Schema((Column("ts", "timestamp"), Column("k", "string"), Column("x", "double")))
SCAN = Scan("s", 1, SCHEMA, (EventTime("ts"),))
COUNT = Aggregate("count(*)", ("count(*)",), ("sum({0})",))
MAX = Aggregate("max(`x`)", ("max(`x`)",), ("max({0})",))
RESULT = Schema(
    (
        Column("window_start", "timestamp"),
        Column("window_end", "timestamp"),
        Column("k0", "string"),
        Column("a0", "bigint"),
    )
)


def aggregate(
    below: Operator = SCAN,
    size: int = 10,
    slide: int | None = None,
    aggregates: tuple[Aggregate, ...] = (COUNT,),
    keys: tuple[str, ...] = ("`k`",),
) -> WindowAggregate:
    """Return windows of so many seconds over `below`."""
    named = tuple((f"a{place}", each) for place, each in enumerate(aggregates))
    assigner = spans(size * SECOND, (slide or size) * SECOND)
    by = tuple((f"k{place}", sql) for place, sql in enumerate(keys))
    return WindowAggregate(below, EventTime("ts"), assigner, by, named, RESULT)


def kept(below: Operator, text: str) -> Filter:
    """Return what fulfils conditions."""
    return Filter(below, tuple(text.split(" AND ")))


def shown(below: Operator, *columns: tuple[str, str]) -> Project:
    """Return some columns, all of them strings."""
    return Project(below, columns, Schema(tuple(Column(name, "string") for name, _ in columns)))
