"""EXPLAIN beside the queries that it explains; UPDATE_GOLDEN=1 writes it anew."""

import os
from pathlib import Path

import pytest

from penstock.plan.explain import explain
from penstock.plan.graph import Graph
from penstock.plan.units import cut_at_shared
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


def explained(graph: Graph) -> str:
    """Return what EXPLAIN says of each query once all of them run."""
    units = cut_at_shared(graph)
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
    for unit in cut_at_shared(graph):
        views = {name: f"trains_{name[:6]}" for name in unit.inputs}
        each_train = unit.pane_sql(views) if unit.aggregate else unit.rows_sql(views)
        assert f"each train:  {each_train}\n" in told


def test_a_query_that_does_not_run_yet_is_explained_as_if_it_did() -> None:
    world = World()
    world.name("a", "SELECT mph FROM traffic WHERE mph > 3")
    new = world.bind("SELECT kind FROM traffic WHERE mph > 3")
    graph = Graph({**world.graph.queries, "this": new})
    told = explain("this", new, graph, cut_at_shared(graph))
    assert "(shared with a)" in told
