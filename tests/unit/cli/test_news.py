from pathlib import Path

from penstock.catalog import CatalogEntry
from penstock.cli.news import News
from penstock.model.definitions import QueryState
from tests.unit.cli.fakes import FakeSystem, known_query, live_query, source_reader

FAILED = QueryState.FAILED


def test_a_failure_is_told_once_with_its_whole_cause(tmp_path: Path) -> None:
    system = FakeSystem(tmp_path)
    news = News(system.topology, system.catalog, system.directory)
    system.topology.queries["q"] = live_query("q")
    assert news.fresh() == []
    system.topology.queries["q"] = live_query("q", FAILED, "SINK_FAILED: x\nhint: y")
    assert news.fresh() == ["query q failed and is held:\n  SINK_FAILED: x\n  hint: y"]
    assert news.fresh() == []
    assert news.failed() == ["q"]


def test_another_cause_is_told_again(tmp_path: Path) -> None:
    system = FakeSystem(tmp_path)
    news = News(system.topology, system.catalog, system.directory)
    for cause in ("one", "two"):
        system.topology.queries["q"] = live_query("q", FAILED, cause)
        assert len(news.fresh()) == 1


def test_a_source_that_cannot_be_read_is_told_of_and_is_no_failed_query(tmp_path: Path) -> None:
    system = FakeSystem(tmp_path)
    system.topology.source_readers["s"] = source_reader("s", cause="SOURCE_FAILED: gone")
    news = News(system.topology, system.catalog, system.directory)
    assert news.fresh() == ["stream s cannot be read now:\n  SOURCE_FAILED: gone"]
    assert news.failed() == []


def test_what_a_restart_could_not_bring_back_is_told_of(tmp_path: Path) -> None:
    system = FakeSystem(tmp_path)
    lost = CatalogEntry("QUERY", "lost", "CREATE …", 1, FAILED, "UNKNOWN_NAME: no stream s")
    held = CatalogEntry("QUERY", "held", "CREATE …", 2, FAILED, "RUN_FAILED: x")
    system.catalog.all = lambda: [lost, held]
    system.directory.known["held"] = known_query("held")
    system.topology.queries["held"] = live_query("held", FAILED, "RUN_FAILED: x")
    news = News(system.topology, system.catalog, system.directory)
    assert len(news.fresh()) == 2
    assert news.failed() == ["held", "lost"]


def test_only_a_running_query_goes_on(tmp_path: Path) -> None:
    system = FakeSystem(tmp_path)
    news = News(system.topology, system.catalog, system.directory)
    for state in (FAILED, QueryState.FINISHED, QueryState.STOPPED):
        system.topology.queries["q"] = live_query("q", state)
        assert not news.runs()
    system.topology.queries["q"] = live_query("q")
    assert news.runs()


def test_who_is_suspended_is_told_of_and_counts_as_going_on(tmp_path: Path) -> None:
    system = FakeSystem(tmp_path)
    news = News(system.topology, system.catalog, system.directory)
    assert not news.runs()
    system.topology.suspended["q"] = live_query("q", QueryState.SUSPENDED, "since noon: no room")
    assert news.fresh() == ["query q is suspended:\n  since noon: no room"]
    assert news.failed() == []
    assert news.runs()
