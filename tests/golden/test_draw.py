"""EXPLAIN ALL beside the queries that it draws; UPDATE_GOLDEN=1 writes it anew."""

import json
import os
import re
from pathlib import Path

import pytest

from penstock.plan.explain.drawings import FORMS, draw
from penstock.plan.explain.drawings.drawing import Drawing
from penstock.plan.operators.graph import Graph
from penstock.plan.sharing.bundles import bundled
from penstock.plan.sharing.units import cut_at_shared
from tests.golden.test_explain import graph_of, thresholds

SCRIPTS = sorted((Path(__file__).parent / "draw").glob("*.sql"))
ENDINGS = {"TEXT": ".txt", "JSON": ".json", "DOT": ".dot"}
STRING = r'"(?:[^"\\]|\\.)*"'
SETTING = rf"\w+=(?:{STRING}|\w+)"
LINE = re.compile(
    rf"  (?:{STRING}(?: -> {STRING})?|node|edge)?(?: \[{SETTING}(?:, {SETTING})*\])?;"
)


def drawing_of(graph: Graph) -> Drawing:
    return draw(graph, cut_at_shared(bundled(graph)))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_the_graph_is_drawn_as_it_was(script: Path, form: str) -> None:
    golden = script.with_suffix(ENDINGS[form])
    drawn = FORMS[form](drawing_of(graph_of(script.read_text()))) + "\n"
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text(drawn)
    assert drawn == golden.read_text()


@pytest.mark.parametrize("count", [1, 3, 200])
def test_every_line_of_dot_is_one_that_graphviz_reads(count: int) -> None:
    graph = thresholds(count).with_query('"\\', thresholds(1).queries["q0"])
    first, *lines, last = FORMS["DOT"](drawing_of(graph)).splitlines()
    assert (first, last) == ("digraph penstock {", "}")
    assert [line for line in lines if not (LINE.fullmatch(line) or line == "  rankdir=LR;")] == []


def test_names_are_escaped_in_dot() -> None:
    drawn = FORMS["DOT"](drawing_of(Graph({'a"\\': thresholds(1).queries["q0"]})))
    assert r'"query a\"\\" [label="a\"\\", shape=ellipse];' in drawn


def test_a_bundle_of_many_shows_ten_and_a_count() -> None:
    drawing = drawing_of(thresholds(200))
    text, dot = FORMS["TEXT"](drawing), FORMS["DOT"](drawing)
    assert " and 190 more" in text
    assert len(text.splitlines()) < 10
    assert len(re.findall(r"shape=ellipse", dot)) == 10
    assert '[label="and 190 more", shape=plaintext]' in dot
    assert len(dot) < 5_000


def test_programs_get_everything() -> None:
    found = json.loads(FORMS["JSON"](drawing_of(thresholds(200))))
    (unit,) = found["units"]
    assert unit["kind"] == "bundle"
    assert len(unit["queries"]) == len(unit["gives"]) == len(found["queries"]) == 200
    assert unit["reads"] == [each["node"] for each in found["streams"]]


def test_where_nothing_runs_there_is_nothing_to_draw() -> None:
    nothing = drawing_of(Graph())
    assert FORMS["TEXT"](nothing) == "no query runs"
    assert json.loads(FORMS["JSON"](nothing)) == {"streams": [], "units": [], "queries": []}
    assert FORMS["DOT"](nothing).startswith("digraph")
