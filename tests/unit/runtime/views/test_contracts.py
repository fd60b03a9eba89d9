"""What queries ask for, and what became of it, as rows."""

from datetime import timedelta
from pathlib import Path

import pyarrow as pa

from penstock.model.definitions import QueryDefinition
from penstock.model.goals import Goals
from penstock.qos.contracts.warmth import MOST_SECONDS
from penstock.runtime.names.directory import Directory, KnownQuery
from penstock.runtime.views.relations.contracts import CONTRACTS, contract_rows, qos_rows
from tests.unit.model.arrow_twin import arrow_without_spark
from tests.unit.model.hall import Hall, scan


def test_every_query_has_a_contract_null_where_it_asks_for_nothing() -> None:
    goals = Goals(timedelta(seconds=2), max_error=0.05, weight=3.0, priority=8)
    directory = Directory()
    for definition, whole in (
        (QueryDefinition("plain", ""), ""),
        (QueryDefinition("hard", "", goals, waits=True, shed_by="n"), ""),
        (QueryDefinition("pushy", "", forced=True), "it shows a median"),
    ):
        directory.add(KnownQuery(definition, scan("s"), frozenset(), whole))
    rows = pa.Table.from_pylist(list(contract_rows(directory)), CONTRACTS.columns).to_pylist()
    assert [tuple(row.values()) for row in rows] == [
        ("plain", None, None, 1.0, 5, None, "", ""),
        ("hard", 2000.0, 0.05, 3.0, 8, "n", "WAIT", ""),
        ("pushy", None, None, 1.0, 5, None, "FORCE", "it shows a median"),
    ]


def test_a_contract_counts_from_when_the_query_is_warm(tmp_path: Path) -> None:
    goals = Goals(timedelta(seconds=30))
    with arrow_without_spark():
        hall = Hall(tmp_path / "home")
        query = hall.add("a", scan("s"))
        query.alter(QueryDefinition("a", "", goals))
        hall.push("s", 1)  # at second one: the first answer is late by far
        hall.take_in()
        hall.clock.sleep(1000)
        hall.deliver()
        assert verdict_of(hall) == (None, "warming", None)
        hall.clock.sleep(MOST_SECONDS)
        assert verdict_of(hall) == (True, "kept", None)
        hall.push("s", 2)  # again
        hall.take_in()
        hall.deliver()
        assert verdict_of(hall) == (False, "broken", 1.0)
        query.alter(QueryDefinition("a", "", Goals(timedelta(minutes=9))))
        assert verdict_of(hall) == (True, "kept", None)  # judged anew


def verdict_of(hall: Hall) -> tuple[object, ...]:
    (row,) = qos_rows(Directory(), hall.topology, lambda _: 1.0, hall.clock.now())
    return row["kept"], row["verdict"], row["late_share"]


def test_an_error_alone_counts_from_the_start(tmp_path: Path) -> None:
    with arrow_without_spark():
        hall = Hall(tmp_path / "home")
        hall.add("a", scan("s")).alter(QueryDefinition("a", "", Goals(max_error=0.1)))
        assert verdict_of(hall) == (True, "kept", None)
