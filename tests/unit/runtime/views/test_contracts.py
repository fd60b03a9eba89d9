"""What queries ask for, as rows."""

from datetime import timedelta

import pyarrow as pa

from penstock.model.definitions import QueryDefinition
from penstock.model.goals import Goals
from penstock.runtime.names.directory import Directory, KnownQuery
from penstock.runtime.views.relations.contracts import CONTRACTS, contract_rows
from tests.unit.model.hall import scan


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
