import errno
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.engine.trains import rows as rows_module
from penstock.engine.trains.rows import (
    SMALL_BYTES,
    SMALL_ROWS,
    Rows,
    empty_table,
    fit,
    in_files,
    in_memory,
    is_small,
    read_parquet,
    write_parquet,
    write_parquet_at,
)
from penstock.errors import DiskFullError
from penstock.model.schema import Column, Schema
from tests.unit.model.arrow_twin import arrow_of, arrow_without_spark

SCHEMA = Schema((Column("ts", "timestamp"), Column("id", "string"), Column("n", "int")))
ROWS = st.lists(
    st.tuples(st.integers(0, 10**15), st.none() | st.text(), st.none() | st.integers(0, 99))
)


@pytest.fixture(scope="module", autouse=True)
def no_spark() -> Iterator[None]:
    with arrow_without_spark():
        yield


def table(rows: list[tuple[int, str | None, int | None]]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [(), (), ()]
    wanted = arrow_of(SCHEMA.ddl())
    arrays = [pa.array(c, f.type) for c, f in zip(columns, wanted, strict=True)]
    return pa.table(arrays, schema=wanted)


NUMBERS = table([(1, "a", 1), (2, "b", None)])


def numbers(count: int) -> pa.Table:
    return table([(n, str(n), n) for n in range(count)])


@given(rows=ROWS)
@settings(deadline=None)
def test_rows_are_the_same_in_memory_in_both_places_and_on_disk(
    rows: list[tuple[int, str | None, int | None]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    home = tmp_path_factory.mktemp("spill")
    given_ = table(rows)
    held = in_memory(given_)
    assert held.to_table(SCHEMA).equals(given_)
    held.to_disk(home)
    assert held.to_table(SCHEMA).equals(given_)
    assert held.memory_bytes == given_.nbytes
    held.leave_memory(home)
    assert held.to_table(SCHEMA).equals(given_)
    assert (held.memory_bytes, held.count) == (0, len(rows))
    assert held.disk_bytes == sum(path.stat().st_size for path in home.iterdir()) > 0
    held.delete()
    assert list(home.iterdir()) == []
    assert (held.table, held.paths) == (None, ())


def test_rows_are_written_once(tmp_path: Path) -> None:
    held = in_memory(NUMBERS)
    held.to_disk(tmp_path)
    held.to_disk(tmp_path)
    held.leave_memory(tmp_path)
    assert len(list(tmp_path.iterdir())) == 1


def test_files_are_counted_by_their_footers_and_read_in_their_order(tmp_path: Path) -> None:
    paths = [write_parquet(table([(n, str(n), n)]), tmp_path) for n in range(5)]
    held = in_files(paths, owned=True)
    assert (held.count, held.memory_bytes, held.is_small) == (5, 0, False)
    assert held.to_table(SCHEMA)["n"].to_pylist() == [0, 1, 2, 3, 4]
    assert read_parquet(paths[::-1], SCHEMA)["n"].to_pylist() == [4, 3, 2, 1, 0]
    assert read_parquet([], SCHEMA).equals(empty_table(SCHEMA))


def test_a_sources_own_files_outlive_the_rows(tmp_path: Path) -> None:
    path = write_parquet(NUMBERS, tmp_path)
    held = in_files([path], owned=False)
    assert held.disk_bytes == 0
    held.delete()
    assert path.exists()


def test_files_with_more_columns_and_narrower_types_fit(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    wide = NUMBERS.append_column("more", [["x", "y"]]).select(["more", "n", "id", "ts"])
    narrow = wide.set_column(1, "n", wide["n"].cast(pa.int8()))
    pq.write_table(narrow, path)
    assert read_parquet([path], SCHEMA).equals(NUMBERS)
    assert fit(narrow, NUMBERS.schema).equals(NUMBERS)


def test_small_is_a_matter_of_rows_and_of_bytes() -> None:
    assert is_small(numbers(SMALL_ROWS))
    assert not is_small(numbers(SMALL_ROWS + 1))
    long = "x" * (SMALL_BYTES + 1)
    assert not is_small(table([(1, long, 1)]))
    assert in_memory(NUMBERS).is_small
    assert not Rows(1, None).is_small


def test_a_file_is_there_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "deep" / "a.parquet"
    write_parquet_at(NUMBERS, path)

    def torn(_: pa.Table, draft: Path, **__: str) -> None:
        draft.write_bytes(b"half")
        raise OSError(errno.ENOSPC, "no room")

    monkeypatch.setattr(rows_module.pq, "write_table", torn)
    with pytest.raises(DiskFullError):
        write_parquet_at(numbers(3), path)
    assert [each.name for each in path.parent.iterdir()] == ["a.parquet"]
    assert pq.read_table(path).equals(NUMBERS)


def test_other_failures_of_the_disk_are_not_called_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise OSError(errno.EIO, "broken")

    monkeypatch.setattr(rows_module.pq, "write_table", broken)
    with pytest.raises(OSError, match="broken"):
        write_parquet(NUMBERS, tmp_path)
