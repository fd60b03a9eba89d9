import pytest

from penstock.errors import CycleError, InUseError, UnknownNameError
from penstock.model.definitions import (
    Connector,
    QueryDefinition,
    StopAfter,
    StreamDefinition,
    TableDefinition,
)
from penstock.plan.operators import Take
from penstock.plan.relations.sources import StreamSource, TableSource
from penstock.runtime.names.directory import Directory, KnownQuery, KnownStream, KnownTable
from tests.unit.plan.twin import ROADS, TRAFFIC

PUSH = Connector("push")


def query(name: str, *reads: str) -> KnownQuery:
    return KnownQuery(QueryDefinition(name, "SELECT 1"), TRAFFIC, frozenset(reads))


@pytest.fixture
def directory() -> Directory:
    directory = Directory()
    directory.add(KnownStream(StreamDefinition("Traffic", TRAFFIC.schema, PUSH), TRAFFIC))
    directory.add(KnownTable(TableDefinition("Roads", PUSH), 4, ROADS.schema))
    directory.add(query("a", "traffic", "roads"))
    directory.add(query("B", "a"))
    return directory


def test_names_have_no_case(directory: Directory) -> None:
    assert directory.get("TRAFFIC") is directory.get("traffic") is not None
    assert directory.stream("traffic").scan is TRAFFIC
    assert directory.query("b").definition.name == "B"
    directory.remove("TRAFFIC")
    assert directory.get("traffic") is None
    directory.remove("traffic")


def test_each_kind_is_listed_on_its_own(directory: Directory) -> None:
    assert [each.definition.name for each in directory.streams()] == ["Traffic"]
    assert [each.definition.name for each in directory.tables()] == ["Roads"]
    assert [each.definition.name for each in directory.queries()] == ["a", "B"]


def test_a_name_of_another_kind_is_unknown(directory: Directory) -> None:
    with pytest.raises(UnknownNameError):
        directory.stream("a")
    with pytest.raises(UnknownNameError):
        directory.query("traffic")
    with pytest.raises(UnknownNameError) as refused:
        directory.stream("trafic")
    assert "raffic" in refused.value.hint
    with pytest.raises(UnknownNameError) as refused:
        Directory().query("a")
    assert refused.value.hint


def test_streams_queries_and_tables_may_be_read(directory: Directory) -> None:
    assert directory.source("TRAFFIC", "q", None) == StreamSource(TRAFFIC)
    assert directory.source("b", "q", None) == StreamSource(TRAFFIC)
    assert directory.source("roads", "q", None) == TableSource("Roads", 4, ROADS.schema)
    assert directory.source("nada", "q", None) is None


def test_a_query_that_stops_takes_from_each_stream_for_itself(directory: Directory) -> None:
    stop = StopAfter(tuples=10)
    assert directory.source("traffic", "q", stop) == StreamSource(Take(TRAFFIC, "q", 10))
    assert directory.source("roads", "q", stop) == TableSource("Roads", 4, ROADS.schema)


def test_a_query_reads_through_others(directory: Directory) -> None:
    directory.add(query("c", "b", "traffic"))
    assert directory.reads("C") == {"b", "a", "traffic", "roads"}
    assert directory.reads("traffic") == set()


def test_a_query_may_not_read_itself_by_any_way(directory: Directory) -> None:
    with pytest.raises(CycleError):
        directory.source("Q", "q", None)
    with pytest.raises(CycleError):
        directory.source("b", "A", None)
    directory.add(query("c", "b"))
    with pytest.raises(CycleError):
        directory.source("c", "a", None)


def test_what_others_read_is_in_use(directory: Directory) -> None:
    for name in ("traffic", "ROADS", "A"):
        with pytest.raises(InUseError):
            directory.refuse_in_use(name)
    directory.refuse_in_use("b")
