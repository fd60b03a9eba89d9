"""Random plan graphs: operators over two streams, some of them equal, some of them shared."""

from hypothesis import strategies as st

from penstock.plan.algebra.aggregates import Aggregate
from penstock.plan.operators import (
    EventTime,
    Filter,
    Operator,
    Project,
    Scan,
    TableJoin,
    Take,
    Union,
    WindowAggregate,
)
from penstock.plan.operators.graph import Graph
from penstock.plan.operators.windows.window_assigner import spans
from tests.unit.plan.twin import columns

ROW = columns(ts="timestamp", v="int")
RESULT = columns(window_start="timestamp", window_end="timestamp", a0="bigint")
TIME = (EventTime("ts"),)
COUNT = ("a0", Aggregate("COUNT(*)", ("count(*)",), ("sum({0})",)))
KINDS = ("filter", "project", "join", "take", "windows", "union")


def scan(name: str) -> Scan:
    return Scan(name, 1, ROW, TIME)


def made(kind: str, variant: int, first: Operator, second: Operator) -> Operator:
    """Return one operator more; equal arguments give equal operators."""
    match kind:
        case "filter":
            return Filter(first, (f"`v` > {variant}",))
        case "project":
            return Project(first, (("ts", "`ts`"), ("v", f"`v` + {variant}")), ROW, TIME)
        case "join":
            return TableJoin(first, "roads", variant, "CROSS", "", (), ROW)
        case "take":
            return Take(first, f"q{variant}", 10)
        case "windows":
            windows = WindowAggregate(first, TIME[0], spans(10, 10), (), (COUNT,), RESULT)
            bound = windows.times[variant]
            shown = (("ts", f"`{bound.column}`"), ("v", "`a0`"))
            return Project(windows, shown, ROW, (EventTime("ts", bound.offset),))
        case _:
            return Union((first, second), ROW, TIME)


@st.composite
def pools(draw: st.DrawFn) -> list[Operator]:
    """Draw operators, each over earlier ones."""
    pool: list[Operator] = [scan("s"), scan("t")]
    for _ in range(draw(st.integers(1, 10))):
        inputs = [pool[draw(st.integers(0, len(pool) - 1))] for _ in range(2)]
        pool.append(made(draw(st.sampled_from(KINDS)), draw(st.integers(0, 1)), *inputs))
    return pool


@st.composite
def graphs(draw: st.DrawFn, min_queries: int = 1) -> Graph:
    """Draw some of a pool's operators as the roots of queries."""
    pool = draw(pools())
    roots = draw(st.lists(st.sampled_from(pool), min_size=min_queries, max_size=5))
    return Graph({f"q{place}": root for place, root in enumerate(roots)})
