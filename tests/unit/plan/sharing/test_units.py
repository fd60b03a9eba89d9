from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.model.own_names import readable
from penstock.model.trains import BEGIN_OF_TIME, END_OF_TIME, shifted
from penstock.plan.operators import (
    EventTime,
    Filter,
    Operator,
    Project,
    Scan,
    Take,
    Union,
    WindowAggregate,
    key,
    walk,
)
from penstock.plan.operators.graph import Graph
from penstock.plan.operators.windows.window_assigner import spans
from penstock.plan.sharing.units import Unit, cut_at_shared
from tests.examples import examples
from tests.unit.plan.graphs import ROW, graphs, made, pools, scan
from tests.unit.plan.twin import TRAFFIC, World, columns

LAW = settings(deadline=None, max_examples=examples(100))
STANDING = st.sets(st.integers(0, 30))


def some_of(graph: Graph, places: set[int]) -> set[str]:
    """Return the keys of some nodes."""
    return {name for place, name in enumerate(graph.nodes()) if place in places}


def members(unit: Unit) -> list[str]:
    return [key(node) for node in unit.members()]


# -- the laws of the cut -------------------------------------------------------------------


@given(graphs(), STANDING)
@LAW
def test_every_node_but_a_scan_is_in_exactly_one_unit(graph: Graph, places: set[int]) -> None:
    units = cut_at_shared(graph, some_of(graph, places))
    inside = Counter(name for unit in units for name in members(unit))
    wanted = [name for name, node in graph.nodes().items() if not isinstance(node, Scan)]
    assert inside == Counter(wanted)


@given(graphs(), STANDING)
@LAW
def test_a_unit_has_at_most_one_aggregate_and_knows_it(graph: Graph, places: set[int]) -> None:
    for unit in cut_at_shared(graph, some_of(graph, places)):
        inside = [node for node in unit.members() if isinstance(node, WindowAggregate)]
        assert inside == ([unit.aggregate] if unit.aggregate else [])


@given(graphs(), STANDING)
@LAW
def test_a_unit_reads_scans_and_the_roots_of_units_before_it(
    graph: Graph, places: set[int]
) -> None:
    done = {name for name, node in graph.nodes().items() if isinstance(node, Scan)}
    for unit in cut_at_shared(graph, some_of(graph, places)):
        inputs = {key(each) for node in unit.members() for each in node.inputs}
        assert set(unit.inputs) == inputs - set(members(unit))
        assert set(unit.inputs) <= done
        assert len(unit.inputs) == len(set(unit.inputs))
        done.add(unit.key)


@given(graphs(), STANDING)
@LAW
def test_what_several_read_or_a_query_delivers_or_stood_is_a_root(
    graph: Graph, places: set[int]
) -> None:
    placement = some_of(graph, places)
    roots = {unit.key for unit in cut_at_shared(graph, placement)}
    nodes = graph.nodes()
    shared = {name for name, readers in graph.readers().items() if len(readers) > 1}
    delivered = {key(root) for root in graph.queries.values()}
    scans = {name for name, node in nodes.items() if isinstance(node, Scan)}
    assert (shared | delivered | placement) - scans <= roots


@given(graphs(), STANDING)
@LAW
def test_a_take_is_alone_in_its_unit(graph: Graph, places: set[int]) -> None:
    for unit in cut_at_shared(graph, some_of(graph, places)):
        if any(isinstance(node, Take) for node in unit.members()):
            assert unit.members() == [unit.root]


@given(graphs())
@LAW
def test_without_need_nothing_is_cut(graph: Graph) -> None:
    """Every root has a reason: it is delivered, shared, beside a Take, or an aggregate's input."""
    nodes, readers = graph.nodes(), graph.readers()
    delivered = {key(root) for root in graph.queries.values()}
    for unit in cut_at_shared(graph):
        above = [nodes[name] for name in readers[unit.key]]
        assert (
            unit.key in delivered
            or len(above) > 1
            or isinstance(unit.root, Take)
            or isinstance(above[0], Take)
            or (unit.aggregate is not None and isinstance(above[0], WindowAggregate | Union))
        )


@given(graphs(), pools())
@LAW
def test_a_query_more_changes_nobody_elses_roots(graph: Graph, pool: list[Operator]) -> None:
    before = {unit.key for unit in cut_at_shared(graph)}
    grown = graph.with_query("new", pool[-1])
    assert before <= {unit.key for unit in cut_at_shared(grown, before)}


@given(graphs(min_queries=2))
@LAW
def test_a_query_less_leaves_the_others_units_as_they_were(graph: Graph) -> None:
    before = cut_at_shared(graph)
    left = Graph({name: root for name, root in graph.queries.items() if name != "q0"})
    after = cut_at_shared(left, {unit.key for unit in before})
    assert set(after) == {unit for unit in before if unit.key in left.nodes()}


@given(graphs(), STANDING)
@LAW
def test_cutting_again_what_stands_gives_the_same_units(graph: Graph, places: set[int]) -> None:
    once = cut_at_shared(graph, some_of(graph, places))
    assert cut_at_shared(graph, {unit.key for unit in once}) == once


def test_what_stood_and_is_gone_makes_no_unit() -> None:
    graph = Graph({"q": made("filter", 1, scan("s"), scan("s"))})
    assert len(cut_at_shared(graph, {"gone"})) == 1


def test_a_stream_that_is_delivered_as_it_comes_needs_no_unit() -> None:
    assert cut_at_shared(Graph({"q": TRAFFIC})) == ()


def test_a_whole_chain_is_one_unit_until_another_query_shares_a_part() -> None:
    world = World()
    world.name("a", "SELECT mph + 1 AS n FROM traffic WHERE mph > 3")
    (alone,) = cut_at_shared(world.graph)
    assert [node.text().split()[0] for node in alone.members()] == ["filter", "project"]
    world.name("b", "SELECT kind FROM traffic t WHERE t.mph > 3")
    shared, first, second = cut_at_shared(world.graph, {alone.key})
    assert isinstance(shared.root, Filter)
    assert first.inputs == second.inputs == (shared.key,)
    assert first.key == alone.key


def test_windows_over_windows_are_units_of_their_own() -> None:
    world = World()
    world.name("minutes", "SELECT window_start, count(*) AS n FROM traffic [RANGE 1 MINUTE]")
    world.name("hours", "SELECT window_start, sum(n) AS n FROM minutes [RANGE 1 HOUR]")
    only_hours = Graph({"hours": world.graph.queries["hours"]})
    minutes, hours = cut_at_shared(only_hours)
    assert (minutes.key, hours.key) == tuple(
        key(world.graph.queries[q]) for q in world.graph.queries
    )
    assert hours.inputs == (minutes.key,)


def test_windows_under_a_union_are_units_of_their_own() -> None:
    """Their rows come by clocks of their own, and a unit has one."""
    one, two = (made("windows", 0, scan(name), scan(name)) for name in "st")
    union = made("union", 0, one, two)
    first, second, both = cut_at_shared(Graph({"q": union}))
    assert (first.root, second.root, both.root) == (one, two, union)
    assert both.aggregate is None
    mixed = made("union", 0, one, scan("t"))
    below, above = cut_at_shared(Graph({"q": mixed}))
    assert (below.root, above.inputs) == (one, (key(one), key(scan("t"))))


# -- a unit's SQL --------------------------------------------------------------------------


def only_unit(select: str) -> Unit:
    world = World()
    world.name("q", select)
    (unit,) = cut_at_shared(world.graph)
    return unit


def test_a_flow_is_one_select_over_its_leaf() -> None:
    unit = only_unit("SELECT mph + 1 AS n FROM traffic WHERE mph > 3")
    assert readable(unit.rows_sql({key(TRAFFIC): "leaf"})) == (
        "SELECT `mph` + 1 AS `n` FROM (SELECT * FROM leaf AS i WHERE (`mph` > 3))"
    )


def test_an_aggregates_rows_are_its_inputs() -> None:
    unit = only_unit("SELECT count(*) AS n FROM traffic [RANGE 1 MINUTE] WHERE mph > 3")
    assert (
        readable(unit.rows_sql({key(TRAFFIC): "leaf"}))
        == "SELECT * FROM leaf AS i WHERE (`mph` > 3)"
    )
    bare = only_unit("SELECT count(*) AS n FROM traffic [RANGE 1 MINUTE]")
    assert bare.rows_sql({key(TRAFFIC): "leaf"}) == "SELECT * FROM leaf"


def test_what_stands_above_an_aggregate_runs_when_windows_close() -> None:
    unit = only_unit(
        "SELECT kind, count(*) AS n FROM traffic [RANGE 1 MINUTE] GROUP BY kind HAVING n > 2"
    )
    panes = readable(unit.pane_sql({key(TRAFFIC): "leaf"}))
    assert "FROM leaf AS i GROUP BY" in panes
    assert "> 2" not in panes
    closed = readable(unit.close_sql("parts", (0, 1)))
    assert closed.startswith("SELECT `k0` AS `kind`, `a0` AS `n` FROM (SELECT * FROM (")
    assert "BETWEEN 0L AND 60000000L" in closed
    assert closed.endswith("AS i WHERE ((`a0`) > 2))")


def test_a_union_reads_each_leaf_once() -> None:
    unit = only_unit(
        "SELECT ts, mph FROM traffic WHERE mph > 3 UNION ALL SELECT ts, mph FROM traffic"
    )
    assert unit.inputs == (key(TRAFFIC),)
    assert unit.rows_sql({key(TRAFFIC): "leaf"}).count("leaf") == 2


def test_a_unit_without_an_aggregate_has_no_panes() -> None:
    with pytest.raises(TypeError):
        only_unit("SELECT mph FROM traffic").pane_sql({})


@given(graphs(), STANDING)
@LAW
def test_a_units_sql_names_its_leaves_and_nothing_else(graph: Graph, places: set[int]) -> None:
    for unit in cut_at_shared(graph, some_of(graph, places)):
        views = {name: f"leaf_{name}" for name in unit.inputs}
        sql = unit.rows_sql(views) if unit.aggregate is None else unit.pane_sql(views)
        for name in graph.nodes():
            assert (f"leaf_{name}" in sql) == (name in views)


# -- watermarks ----------------------------------------------------------------------------


def watermark(root: Operator, **marks: int) -> int:
    """Return the watermark by which a unit that holds everything above the scans goes."""
    leaves = [node for node in walk(root) if isinstance(node, Scan)]
    aggregate = next((n for n in walk(root) if isinstance(n, WindowAggregate)), None)
    unit = Unit(root, tuple(leaves), aggregate)
    known = {key(leaf): marks[leaf.stream] for leaf in leaves}
    if aggregate is None:
        return unit.watermark(known)
    return shifted(unit.marks(known)[0], aggregate.time.offset)


@given(st.integers(-100, 100), st.integers(-100, 100))
@settings(deadline=None)
def test_a_union_promises_what_its_slowest_input_does(one: int, two: int) -> None:
    union = made("union", 0, made("filter", 0, scan("s"), scan("s")), scan("t"))
    assert watermark(union, s=one, t=two) == min(one, two)
    assert watermark(made("windows", 0, union, union), s=one, t=two) == min(one, two)


def ends_of_windows(size: int) -> Operator:
    """Return a leaf that stands for a query of windows whose end is its time."""
    return Scan("windows", 9, columns(e="timestamp", v="int"), (EventTime("e", size),))


@given(st.integers(-100, 100), st.integers(-100, 100), st.integers(1, 50))
@settings(deadline=None)
def test_the_end_of_windows_is_ahead_of_their_start_by_the_size(
    start: int, other: int, size: int
) -> None:
    ends = ends_of_windows(size)
    over = WindowAggregate(ends, ends.times[0], spans(10, 10), (), (), ROW)
    assert watermark(over, windows=start) == start + size
    union = Union((ends, scan("t")), ROW, (EventTime("ts"),))
    assert watermark(union, windows=start, t=other) == min(start + size, other)
    above = WindowAggregate(union, EventTime("ts"), spans(10, 10), (), (), ROW)
    assert watermark(above, windows=start, t=other) == min(start + size, other)


def test_a_projection_keeps_the_offset_of_the_time_that_it_keeps() -> None:
    ends = ends_of_windows(30)
    kept = Project(ends, (("m", "`e`"),), columns(m="timestamp"), (EventTime("m", 30),))
    assert watermark(kept, windows=100) == 100  # the offset is in the time, not yet in the mark
    over = WindowAggregate(kept, kept.times[0], spans(10, 10), (), (), ROW)
    assert watermark(over, windows=100) == 130


@pytest.mark.parametrize("end", [BEGIN_OF_TIME, END_OF_TIME])
def test_the_ends_of_time_do_not_move(end: int) -> None:
    ends = ends_of_windows(30)
    over = WindowAggregate(ends, ends.times[0], spans(10, 10), (), (), ROW)
    assert watermark(over, windows=end) == end
    union = Union((ends, scan("t")), ROW, (EventTime("ts"),))
    assert watermark(union, windows=end, t=end) == end
    assert watermark(union, windows=END_OF_TIME, t=7) == 7


@given(graphs(), st.data())
@LAW
def test_a_watermark_never_falls_when_a_leafs_rises(graph: Graph, data: st.DataObject) -> None:
    for unit in cut_at_shared(graph):
        low = {name: data.draw(st.integers(-50, 50)) for name in unit.inputs}
        high = {name: mark + data.draw(st.integers(0, 50)) for name, mark in low.items()}
        assert unit.watermark(low) <= unit.watermark(high)
        assert unit.watermark(dict.fromkeys(unit.inputs, END_OF_TIME)) == END_OF_TIME
