"""The traffic that all systems read: seeded, in order of files, never late."""

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from benchmarks.many.load import BATCH_SECONDS, Load, write_for_flink, write_load
from benchmarks.readings import DAY, SECOND

SIZE = Load(Path(), rows=300, batches=4, warm=1)


@pytest.fixture
def load(tmp_path: Path) -> Load:
    made = SIZE.on_day(0, tmp_path / "load")
    write_load(made)
    return made


def files_of(load: Load, stream: str) -> list[pa.Table]:
    return [pq.read_table(file) for file in sorted((load.path / stream).iterdir())]


def micros(table: pa.Table) -> pa.ChunkedArray:
    return table["ts"].cast(pa.int64())


def test_the_same_seed_gives_the_same_files(load: Load, tmp_path: Path) -> None:
    again = SIZE.on_day(0, tmp_path / "again")
    write_load(again)
    for stream in ("traffic", "reports", "roads"):
        assert files_of(load, stream) == files_of(again, stream)


def test_another_day_changes_times_only(load: Load, tmp_path: Path) -> None:
    later = SIZE.on_day(3, tmp_path / "later")
    write_load(later)
    for one, other in zip(files_of(load, "traffic"), files_of(later, "traffic"), strict=True):
        assert pc.all(pc.equal(pc.add(micros(one), 3 * DAY), micros(other))).as_py()
        assert one.drop_columns(["ts"]) == other.drop_columns(["ts"])


@pytest.mark.parametrize("stream", ["traffic", "reports"])
def test_no_row_is_late_and_the_watermark_is_known(load: Load, stream: str) -> None:
    for batch, table in enumerate(files_of(load, stream)):
        assert pc.min(micros(table)).as_py() > load.watermark(batch)
        latest = load.start + (batch + 1) * BATCH_SECONDS * SECOND - 1_000
        assert pc.max(micros(table)).as_py() == latest


def test_times_are_whole_milliseconds(load: Load) -> None:
    for table in files_of(load, "traffic"):
        table["ts"].cast(pa.timestamp("ms", "UTC"))  # raises where something would be lost


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_flink_gets_the_same_rows(load: Load, form: str) -> None:
    path = write_for_flink(load, 2, form)
    files = sorted((path / "traffic").iterdir())
    assert len(files) == 2
    if form == "parquet":
        rows = pa.concat_tables(map(pq.read_table, files))
        expected = pa.concat_tables(files_of(load, "traffic")[:2])
        cells = [rows.column_names[1:], rows.drop_columns(["millis"]).to_pylist()]
        assert cells[0] == expected.column_names[1:]
        key = str
        assert sorted(cells[1], key=key) == sorted(
            expected.drop_columns(["ts"]).to_pylist(), key=key
        )
    else:
        lines = [line for file in files for line in file.read_text().splitlines()]
        assert len(lines) == 2 * load.rows
