"""Every query that is defined has one state."""

from penstock.catalog import MemoryCatalog
from penstock.model.definitions import QueryDefinition, QueryState
from penstock.runtime.names.directory import Directory, KnownQuery
from penstock.server.metrics.query_metrics import state_metric
from tests.unit.model.hall import scan


def test_a_query_that_could_not_be_brought_back_has_failed() -> None:
    catalog, directory = MemoryCatalog(), Directory()
    for name in ("runs", "stopped", "lost"):
        catalog.put("QUERY", name, "")
    catalog.put("STREAM", "s", "")
    catalog.set_state("stopped", QueryState.STOPPED)
    for name in ("runs", "stopped"):
        directory.add(KnownQuery(QueryDefinition(name, ""), scan("s"), frozenset(), ""))
    found = {s.labels["query"]: s.labels["state"] for s in state_metric(directory, catalog).samples}
    assert found == {"runs": "RUNNING", "stopped": "STOPPED", "lost": "FAILED"}
