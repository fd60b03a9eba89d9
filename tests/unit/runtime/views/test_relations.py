"""The rows of views over a topology without Spark."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.catalog.memory import MemoryCatalog
from penstock.model.definitions import QueryDefinition, QueryState
from penstock.plan.operators import key
from penstock.runtime.durable.pending_actions import PendingActions
from penstock.runtime.names.directory import Directory, KnownQuery, KnownStream
from penstock.runtime.quality.samples import INTERVAL_SECONDS, Samples
from penstock.runtime.views.relations.dead_letters import DEAD_LETTERS
from penstock.runtime.views.relations.history import HISTORY
from penstock.runtime.views.relations.queries import QUERIES
from penstock.runtime.views.relations.streams import STREAMS
from penstock.runtime.views.relations.topology.units import UNITS, short
from penstock.runtime.views.view import View
from tests.unit.model.arrow_twin import arrow_without_spark
from tests.unit.model.hall import Hall, chain


@pytest.fixture(scope="module", autouse=True)
def no_spark() -> Iterator[None]:
    with arrow_without_spark():
        yield


class Around:
    """A hall, and around it the parts that views read."""

    def __init__(self, home: Path) -> None:
        self.hall = Hall(home)
        self.topology, self.journal = self.hall.topology, self.hall.journal
        self.clock = self.hall.clock
        self.directory, self.catalog = Directory(), MemoryCatalog()
        self.pending_actions = PendingActions(home / "firings.db")
        self.samples = Samples(self.topology)
        self.supervisor = SimpleNamespace(
            resting=contextlib.nullcontext, topology=self.topology, samples=self.samples
        )
        for source_reader in self.topology.source_readers.values():
            self.directory.add(KnownStream(source_reader.definition, source_reader.scan))

    def add(self, name: str, labels: str) -> None:
        root = chain("s", labels)
        self.directory.add(KnownQuery(QueryDefinition(name, ""), root, frozenset()))
        self.catalog.put("QUERY", name, "")
        self.hall.add(name, root)

    def rows(self, view: View) -> list[dict[str, Any]]:
        of: Any = self
        return list(view.table(of).to_pylist())


@pytest.fixture
def around(tmp_path: Path) -> Iterator[Around]:
    made = Around(tmp_path / "home")
    yield made
    made.pending_actions.close()


def test_queries_and_streams_have_their_figures(around: Around) -> None:
    around.add("q", "x")
    around.catalog.put("QUERY", "lost", "")
    around.catalog.set_state("lost", QueryState.FAILED, "no table\nat all")
    around.hall.push("s", 1, 2)
    around.hall.take_in()
    (stream,) = around.rows(STREAMS)
    assert (stream["stream"], stream["state"], stream["rows"]) == ("s", "OPEN", 2)
    assert stream["queued_rows"] == 2
    query, lost = around.rows(QUERIES)
    assert (query["state"], query["queued_rows"], query["rows_out"]) == ("RUNNING", 2, 0)
    assert query["queued_bytes"] > 0
    assert (lost["query"], lost["state"], lost["cause"]) == ("lost", "FAILED", "no table")
    around.hall.drain()
    query, _ = around.rows(QUERIES)
    assert (query["rows_in"], query["rows_out"], query["queued_rows"]) == (2, 2, 0)
    assert query["p50_ms"] is not None
    del around.topology.queries["q"]  # as one that is stopped: the journal knows what it gave
    assert around.rows(QUERIES)[0]["rows_out"] == 2


def test_units_say_what_waits_before_them_and_why_they_are_held(around: Around) -> None:
    around.add("q", "x")
    around.add("r", "xy")
    around.hall.push("s", 1, 2, 3)
    around.hall.take_in()
    first = key(chain("s", "x"))
    found = {row["unit"]: row for row in around.rows(UNITS)}
    assert set(found) == {short(name) for name in around.topology.units}
    assert (found[short(first)]["queued_rows"], found[short(first)]["queries"]) == (3, 2)
    assert "over s" in found[short(first)]["what"]
    assert {row["kind"] for row in found.values()} == {"node"}
    around.topology.units[first].cause = "broken\nhere"
    held = {row["unit"]: row for row in around.rows(UNITS)}[short(first)]
    assert (held["state"], held["cause"]) == ("HELD", "broken")


def test_history_is_a_row_for_each_sample(around: Around) -> None:
    around.add("q", "x")
    around.samples.look(around.clock.now())
    around.hall.push("s", 1, 2)
    around.hall.drain()
    around.clock.sleep(INTERVAL_SECONDS)
    around.samples.look(around.clock.now())
    rows = around.rows(HISTORY)
    assert [(row["kind"], row["name"], row["rows_out"]) for row in rows] == [
        ("stream", "s", 0),
        ("query", "q", 0),
        ("stream", "s", 2),
        ("query", "q", 2),
    ]
    assert rows[1]["out_per_s"] is None
    assert rows[3]["out_per_s"] == round(2 / around.clock.now(), 1)
    assert rows[3]["latency_ms"] > 0
    assert rows[3]["at"].timestamp() == around.clock.now()


def test_dead_letters_name_the_relation_that_has_them(around: Around) -> None:
    around.add("q", "x")
    assert around.rows(DEAD_LETTERS) == []
    (source_reader,) = around.topology.source_readers.values()
    source_reader.rejected = 3
    assert around.rows(DEAD_LETTERS) == [
        {"kind": "rejected", "name": "s", "rows": 3, "relation": "`s`.rejects"}
    ]
