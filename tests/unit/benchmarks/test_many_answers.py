"""Answers of several systems as bags that can be compared."""

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.many.answers import OtherRowsError, bag, compare
from benchmarks.many.queries import Window, WindowAggregate

QUERY = WindowAggregate("q", Window(10, 10), ("type",), ("cars", "avg_mph"))
FOREVER = 2**62


def at(second: int) -> datetime:
    return datetime(2026, 1, 1, 0, 0, second, tzinfo=UTC)


def told(path: Path, average: float = 1 / 3) -> Path:
    path.mkdir()
    table = pa.table(
        {
            "window_start": [at(0), at(10)],
            "window_end": [at(10), at(20)],
            "type": ["Car", "Bus"],
            "cars": [3, 4],
            "avg_mph": [average, 2.0],
        }
    )
    pq.write_table(table, path / "q.parquet")
    return path


def test_rows_from_parquet_and_csv_are_the_same(tmp_path: Path) -> None:
    lines = [
        '"2026-01-01 00:00:10","2026-01-01 00:00:20",Bus,4,2.0',
        '"2026-01-01 00:00:00","2026-01-01 00:00:10",Car,3,0.33333333333333331',
    ]
    (tmp_path / "csv/q").mkdir(parents=True)
    (tmp_path / "csv/q/part-1").write_text("\n".join(lines) + "\n")
    ours = told(tmp_path / "parquet")
    assert compare("Flink", [QUERY], tmp_path / "csv", ours, FOREVER) == 2


def test_windows_that_had_not_closed_are_left_out(tmp_path: Path) -> None:
    until = int(at(15).timestamp() * 1_000_000)
    assert bag(QUERY, told(tmp_path / "one"), until).total() == 1


def test_other_rows_are_named(tmp_path: Path) -> None:
    one, other = told(tmp_path / "one"), told(tmp_path / "other", average=0.5)
    with pytest.raises(OtherRowsError, match=r"X gives other rows for q: 1 missing"):
        compare("X", [QUERY], one, other, FOREVER)


def test_a_query_without_rows_is_an_empty_bag(tmp_path: Path) -> None:
    assert not bag(QUERY, tmp_path, FOREVER)
