"""EXPLAIN beside the queries that it explains; UPDATE_GOLDEN=1 writes it anew."""

import os
from pathlib import Path

import pytest

from penstock.model.own_names import readable
from penstock.plan.explain.explain import explain, units_behind
from penstock.plan.explain.explain_bundle import flow_post_aggregation_text, flow_sql, pass_sql
from penstock.plan.operators import Bundle, FlowBundle, key
from penstock.plan.operators.graph import Graph
from penstock.plan.sharing.bundles import bundled
from penstock.plan.sharing.layout import layout_of
from penstock.plan.sharing.multi_aggregate_scan import multi_scan_of, scan_places
from penstock.plan.sharing.post_aggregation import flow_post_aggregation_of, post_aggregation_of
from penstock.plan.sharing.units import Unit, cut_at_shared
from penstock.sql import CreateQuery, parse, to_sql
from tests.unit.plan.twin import World

SCRIPTS = sorted((Path(__file__).parent / "explain").glob("*.sql"))


def graph_of(script: str) -> Graph:
    """Return the graph of a script's queries."""
    world = World()
    for statement in parse(script):
        assert isinstance(statement, CreateQuery)
        world.name(statement.definition.name, to_sql(statement.select))
    return world.graph


def units_of(graph: Graph) -> tuple[Unit, ...]:
    """Return the units that would run."""
    return cut_at_shared(bundled(graph))


def explained(graph: Graph) -> str:
    """Return what EXPLAIN says of each query once all of them run."""
    units = units_of(graph)
    told = [explain(name, root, graph, units) for name, root in graph.queries.items()]
    return "\n\n\n".join(told) + "\n"


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_explain_says_what_it_said(script: Path) -> None:
    golden = script.with_suffix(".txt")
    told = explained(graph_of(script.read_text()))
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text(told)
    assert told == golden.read_text()


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_explain_shows_the_very_text_that_the_units_run(script: Path) -> None:
    graph = graph_of(script.read_text())
    told = explained(graph)
    for unit in units_of(graph):
        views = {name: f"trains_{name[:6]}" for name in unit.inputs}
        if isinstance(bundle := unit.bundle, Bundle):
            layout = layout_of(bundle.members)
            each_train = pass_sql(unit, layout, views)
            if scan_places([layout]):
                multi_scan = multi_scan_of([layout], bundle.input.schema).sql(
                    f"({unit.input_sql(0, views)})"
                )
                each_train = f"{multi_scan}, once for it"
            for member in bundle.members:
                post_aggregation = readable(post_aggregation_of(member).shape.sql("closed"))
                assert f"then:        {post_aggregation}" in told
        elif isinstance(bundle, FlowBundle):
            each_train = flow_sql(unit, bundle.members, views)
            for flow in bundle.members:
                post = flow_post_aggregation_text(flow_post_aggregation_of(flow))
                assert f"then:        {readable(post)}\n" in told
        else:
            each_train = unit.pane_sql(views) if unit.aggregate else unit.rows_sql(views)
        assert f"each train:  {readable(each_train)}\n" in told


def test_a_query_that_does_not_run_yet_is_explained_as_if_it_did() -> None:
    world = World()
    world.name("a", "SELECT mph FROM traffic WHERE mph > 3")
    new = world.bind("SELECT kind FROM traffic WHERE mph > 3")
    graph = Graph({**world.graph.queries, "this": new})
    told = explain("this", new, graph, cut_at_shared(graph))
    assert "(shared with a)" in told


def thresholds(count: int) -> Graph:
    """Return queries that differ in a constant, and in a claim."""
    world = World()
    for n in range(count):
        where = f"mph > {n} AND car_id LIKE '{n}%'"
        world.name(
            f"q{n}",
            f"SELECT count(*) AS n FROM traffic [RANGE {n % 7 + 1} MINUTES] WHERE {where}",
        )
    return world.graph


def test_a_bundle_of_many_stays_readable() -> None:
    graph = thresholds(200)
    told = explain("q7", graph.queries["q7"], graph, units_of(graph))
    assert "of 200 queries: q0, q1, q10, q100" in told
    assert told.count(" and 190 more\n") == 1
    assert told.count(" and 189 more)\n") == 1  # of those that share the scan
    assert "in a section of 48 (one of 5 sections), which" in told
    assert "which tells tuples apart by 48 predicate bits; panes of 60 s\n" in told
    assert max(map(len, told.splitlines())) < 3_000


def test_what_is_not_long_is_shown_as_it_runs() -> None:
    graph = thresholds(3)
    (unit,) = units_of(graph)
    assert isinstance(unit.bundle, Bundle)
    views = {name: f"trains_{name[:6]}" for name in unit.inputs}
    sql = multi_scan_of([layout_of(unit.bundle.members)], unit.bundle.input.schema).sql(
        f"({unit.input_sql(0, views)})"
    )
    told = explain("q0", graph.queries["q0"], graph, (unit,))
    assert f"each train:  {readable(sql)}, once for it\n" in told


def test_units_come_after_those_that_they_read() -> None:
    world = World()
    world.name(
        "a", "SELECT kind, ts, count(*) AS n FROM traffic [RANGE 1 MINUTE] GROUP BY kind, ts"
    )
    world.name(
        "b", "SELECT window_start, max(mph) AS m FROM traffic [RANGE 1 MINUTE] GROUP BY kind"
    )
    world.name("c", "SELECT kind, sum(mph) AS m FROM traffic [RANGE 2 MINUTES] GROUP BY kind")
    root = world.name("over", "SELECT max(m) AS m FROM b [RANGE 1 HOUR]")
    behind = [unit for _, unit in units_behind(root, units_of(world.graph))]
    assert [unit.bundle is not None for unit in behind] == [True, False]
    assert behind[1].inputs == (key(world.graph.queries["b"]),)
