"""Tables whose files change: read once they stand still, in force from one rest on, over deaths."""

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from penstock.clock import HandClock
from penstock.errors import SourceError
from penstock.model.definitions import Connector, TableDefinition
from penstock.model.schema import Column, Schema
from penstock.runtime.sources.table_versions import LOOK_SECONDS, Seen, TableVersions
from tests.unit.model.arrow_twin import arrow_without_spark
from tests.unit.model.hall import SyncPool

SCHEMA = Schema((Column("k", "string"), Column("n", "bigint")))
NAMES = TableDefinition("Names", Connector("files"))


@pytest.fixture(scope="module", autouse=True)
def no_spark() -> Iterator[None]:
    with arrow_without_spark():
        yield


def rows(*numbers: int) -> pa.Table:
    return pa.table({"k": [str(n) for n in numbers], "n": pa.array(numbers, pa.int64())})


@dataclass
class TwinTables:
    """One table's files as a value that changes; `held` is what is in force."""

    there: pa.Table | str = field(default_factory=lambda: rows(1))
    changed: int = 0
    held: pa.Table | None = None
    reads: int = 0
    released: TableDefinition | None = None

    def write(self, there: pa.Table | str) -> None:
        self.there, self.changed = there, self.changed + 1

    def seen(self, definition: TableDefinition) -> Seen:
        return (("file", 0, self.changed),)

    def read(self, definition: TableDefinition) -> pa.Table:
        self.reads += 1
        if isinstance(self.there, str):
            raise SourceError(self.there)
        return self.there

    def hold(
        self, definition: TableDefinition, incarnation: int, rows: pa.Table, file: Path | None
    ) -> Schema:
        self.held = rows
        return SCHEMA

    def drop(self, name: str, incarnation: int) -> None:
        self.held = None

    def release(self, definition: TableDefinition) -> None:
        self.released = definition

    def close(self) -> None:
        self.held = None


class Life:
    """Versions over a twin, which die with their process; a manifest is what a checkpoint kept."""

    def __init__(self, directory: Path) -> None:
        self.directory, self.files, self.clock = directory, TwinTables(), HandClock(100.0)
        self.manifest: dict[str, Any] = {}
        self.begin()

    def begin(self) -> None:
        self.versions = TableVersions(self.files, self.directory, self.clock)
        self.files.held = None
        self.versions.bring_back(NAMES, 7, self.manifest)

    def look(self, times: int = 1) -> None:
        for _ in range(times):
            self.clock.sleep(LOOK_SECONDS)
            self.versions.look(SyncPool(), self.clock.now())

    def checkpoint(self) -> None:
        self.manifest = json.loads(json.dumps(self.versions.kept()))
        self.versions.tidy()

    @property
    def numbers(self) -> list[int]:
        assert self.files.held is not None
        return list(self.files.held["n"].to_pylist())


@pytest.fixture
def life(tmp_path: Path) -> Life:
    life = Life(tmp_path / "tables")
    life.checkpoint()
    return life


def test_what_stands_still_is_not_read_again(life: Life) -> None:
    life.look(5)
    assert (life.files.reads, life.versions.has_news) == (1, False)


def test_a_change_is_read_once_it_has_lasted_and_in_force_after_a_swap(life: Life) -> None:
    life.files.write(rows(2, 3))
    life.look()
    assert life.files.reads == 1  # somebody may still be writing
    life.look()
    assert (life.versions.has_news, life.numbers) == (True, [1])
    life.clock.sleep(5)
    life.versions.swap()
    table = life.versions.of("NAMES", 7)
    assert (life.numbers, table.version, table.rows, table.read_at) == ([2, 3], 2, 2, 107.0)
    life.look(5)
    assert life.files.reads == 2


def test_files_are_looked_at_about_once_a_second(life: Life) -> None:
    life.files.write(rows(2))
    for _ in range(5):
        life.versions.look(SyncPool(), life.clock.now() + 0.1)
    assert life.files.reads == 1


def test_what_changes_while_it_is_read_is_read_again(life: Life) -> None:
    life.files.write(rows(2))
    life.look()
    read = life.files.read

    def changing(definition: TableDefinition) -> pa.Table:
        found = read(definition)
        life.files.write(rows(3))
        return found

    life.files.read = changing  # type: ignore[method-assign]
    life.look()
    assert not life.versions.has_news
    life.files.read = read  # type: ignore[method-assign]
    life.look(2)
    life.versions.swap()
    assert life.numbers == [3]


@pytest.mark.parametrize("there", ["it is gone", pa.table({"k": ["1"]}), pa.table({"n": ["x"]})])
def test_what_cannot_be_read_leaves_the_old_rows_in_force_and_says_why(
    life: Life, there: pa.Table | str
) -> None:
    life.files.write(there)
    life.look(4)
    table = life.versions.of("names", 7)
    assert (life.versions.has_news, life.numbers, table.version) == (False, [1], 1)
    assert "SOURCE_FAILED" in table.cause
    assert life.files.reads == 2  # not tried again before it changes again
    life.files.write(rows(4))
    life.look(2)
    life.versions.swap()
    assert (life.numbers, table.cause) == ([4], "")


def test_further_columns_are_left_out(life: Life) -> None:
    life.files.write(rows(2).append_column("more", pa.array([1])))
    life.look(2)
    life.versions.swap()
    assert life.numbers == [2]
    assert life.files.held is not None
    assert life.files.held.column_names == ["k", "n"]


def test_a_restart_begins_with_the_version_of_the_checkpoint(life: Life) -> None:
    life.files.write(rows(2))
    life.look(2)
    life.versions.swap()  # and it dies before the checkpoint
    life.begin()
    assert life.numbers == [1]
    assert life.files.reads == 2
    life.look(2)
    life.versions.swap()
    life.checkpoint()
    life.files.write("it is gone")
    life.begin()
    assert (life.numbers, life.versions.of("names", 7).version) == ([2], 2)


def test_a_table_that_no_checkpoint_knows_is_read(life: Life) -> None:
    life.files.write(rows(9))
    life.manifest = {}
    life.begin()
    assert life.numbers == [9]


def test_few_old_versions_stay_and_none_of_a_dropped_table(life: Life) -> None:
    for number in itertools.islice(itertools.count(2), 5):
        life.files.write(rows(number))
        life.look(2)
        life.versions.swap()
        life.checkpoint()
    (place,) = life.directory.iterdir()
    assert sorted(path.name for path in place.iterdir()) == [
        "version-0000000005.parquet",
        "version-0000000006.parquet",
    ]
    life.versions.drop("Names", 7)
    assert list(life.directory.iterdir()) == []
    assert life.files.held is None


def test_a_type_that_parquet_has_not_is_read_again_after_a_restart(tmp_path: Path) -> None:
    life = Life(tmp_path)
    months = pa.array([(1, 2, 3)], pa.month_day_nano_interval())
    reading = life.versions.read(NAMES)
    odd = pa.table({"k": ["a"], "n": months})
    life.versions.create(NAMES, 8, type(reading)(odd, reading.seen))
    life.checkpoint()
    life.versions.bring_back(NAMES, 8, life.manifest)
    assert life.numbers == [1]
