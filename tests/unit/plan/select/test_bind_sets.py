"""UNION, INTERSECT and EXCEPT: which rows are compared, and for how long they are kept."""

from penstock.model.own_names import readable
from penstock.plan.operators import EventTime, Operator, Project, Union, WindowAggregate, walk
from penstock.plan.select.bind_sets import SIDE
from tests.unit.plan.twin import bind

A = "SELECT ts, mph FROM traffic"
B = "SELECT at, mph FROM south"
C = "SELECT ts, mph FROM traffic WHERE mph > 3"


def unions(root: Operator) -> list[int]:
    """Return how many inputs each union has, the lowest first."""
    return [len(node.inputs) for node in walk(root) if isinstance(node, Union)]


def comparing(root: Operator) -> list[WindowAggregate]:
    return [node for node in walk(root) if isinstance(node, WindowAggregate)]


def test_union_all_keeps_nothing() -> None:
    root = bind(f"{A} UNION ALL {B} UNION ALL {C}")
    assert unions(root) == [3]
    assert not comparing(root)


def test_union_compares_the_rows_of_each_moment() -> None:
    root = bind(f"{A} UNION {B}")
    assert isinstance(root, Project)
    assert root.schema.names == ("ts", "mph")
    assert root.times[0] == EventTime("ts")
    (aggregate,) = comparing(root)
    assert aggregate.is_instant
    assert [sql for _, sql in aggregate.keys] == ["`mph`", "`ts`"]
    assert aggregate.aggregates == ()


def test_rows_of_unions_below_are_compared_once() -> None:
    for text in (f"{A} UNION {B} UNION {C}", f"{A} UNION ALL {B} UNION {C}", f"{A} UNION ({B})"):
        assert len(comparing(bind(text))) == 1
    root = bind(f"{A} UNION {B} UNION ALL {C}")
    assert unions(root) == [2, 2]
    assert isinstance(root, Union)


def test_the_window_is_a_moment_too() -> None:
    counted = "SELECT kind, count(*) AS n, window_start FROM traffic [RANGE 1 MINUTE] GROUP BY kind"
    root = bind(f"{counted} UNION {counted} HAVING n > 3")
    assert root.times[0] == EventTime("window_start")


def test_intersect_and_except_ask_which_sides_have_a_row() -> None:
    root = bind(f"{A} INTERSECT {B}")
    assert root.schema.names == ("ts", "mph")
    assert "filter (`a1` < `a0`)" in [readable(node.text()) for node in walk(root)]
    (aggregate,) = comparing(root)
    assert [each.text for _, each in aggregate.aggregates] == [f"MAX(`{SIDE}`)", f"MIN(`{SIDE}`)"]
    texts = [readable(node.text()) for node in walk(bind(f"{A} EXCEPT {B}"))]
    assert "filter (`a0` = 0)" in texts
    assert "project `at`, `mph`, 1 AS `side`" in texts


def test_intersect_binds_more_strongly() -> None:
    root = bind(f"{A} UNION {B} INTERSECT {C}")
    assert len(comparing(root)) == 2
    assert comparing(root)[-1].aggregates == ()
