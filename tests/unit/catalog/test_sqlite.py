import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from penstock.catalog import SqliteCatalog
from penstock.errors import ClosedError, HomeBusyError, HomeError, PenstockError
from penstock.model.definitions import QueryState


def test_a_reopened_catalog_has_everything_back(tmp_path: Path) -> None:
    path = tmp_path / "catalog.db"
    with closing(SqliteCatalog(path)) as catalog:
        catalog.put("STREAM", "traffic", "CREATE STREAM …")
        catalog.put("QUERY", "Fast", "CREATE QUERY …")
        catalog.set_state("fast", QueryState.STOPPED, "by hand")
        before = catalog.all()
    with closing(SqliteCatalog(path)) as catalog:
        assert catalog.all() == before


def test_incarnations_go_on_after_a_restart_also_of_what_was_removed(tmp_path: Path) -> None:
    path = tmp_path / "catalog.db"
    with closing(SqliteCatalog(path)) as catalog:
        first = catalog.put("STREAM", "traffic", "x").incarnation
        catalog.remove("traffic")
    with closing(SqliteCatalog(path)) as catalog:
        assert catalog.put("STREAM", "traffic", "x").incarnation > first


def test_the_file_is_made(tmp_path: Path) -> None:
    path = tmp_path / "catalog.db"
    with closing(SqliteCatalog(path)):
        assert path.exists()


def test_an_empty_file_is_a_new_catalog(tmp_path: Path) -> None:
    path = tmp_path / "catalog.db"
    path.touch()
    with closing(SqliteCatalog(path)) as catalog:
        assert catalog.all() == []


def refused(path: Path) -> PenstockError:
    with pytest.raises(PenstockError) as caught:
        SqliteCatalog(path)
    return caught.value


def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "catalog.db"
    path.write_bytes(b"no database " * 100)
    assert isinstance(refused(path), HomeError)
    assert path.read_bytes() == b"no database " * 100


def test_another_program_s_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "catalog.db"
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE entries (a)")
    before = path.read_bytes()
    assert isinstance(refused(path), HomeError)
    assert path.read_bytes() == before


def test_a_catalog_of_a_newer_format_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "catalog.db"
    SqliteCatalog(path).close()
    with closing(sqlite3.connect(path)) as newer:
        newer.execute("PRAGMA user_version = 99")
    error = refused(path)
    assert isinstance(error, HomeError)
    assert error.hint


def test_a_damaged_catalog_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "catalog.db"
    with closing(SqliteCatalog(path)) as catalog:
        for number in range(200):
            catalog.put("STREAM", f"s{number}", "x" * 500)
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + b"\xff" * 4096 + whole[8192:])
    assert isinstance(refused(path), HomeError)


def test_a_state_of_an_unknown_name_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "catalog.db"
    with closing(SqliteCatalog(path)) as catalog:
        catalog.put("QUERY", "fast", "x")
    with closing(sqlite3.connect(path)) as other, other:
        other.execute("UPDATE entries SET state = 'DREAMING'")
    with closing(SqliteCatalog(path)) as catalog, pytest.raises(HomeError):
        catalog.all()


@pytest.mark.parametrize("inside", ["", "file/catalog.db"])
def test_a_path_that_cannot_be_a_file_is_refused(tmp_path: Path, inside: str) -> None:
    (tmp_path / "file").touch()
    assert isinstance(refused(tmp_path / inside), HomeError)


def test_a_catalog_that_another_process_writes_is_busy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.database.sqlite.PATIENCE", 0.01)
    path = tmp_path / "catalog.db"
    with (
        closing(SqliteCatalog(path)) as catalog,
        closing(sqlite3.connect(path, isolation_level=None)) as other,
    ):
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(HomeBusyError):
            catalog.put("STREAM", "traffic", "x")
        other.execute("ROLLBACK")
        catalog.put("STREAM", "traffic", "x")


def test_a_closed_catalog_cannot_be_used(tmp_path: Path) -> None:
    catalog = SqliteCatalog(tmp_path / "catalog.db")
    catalog.close()
    catalog.close()
    with pytest.raises(ClosedError):
        catalog.all()
