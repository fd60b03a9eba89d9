"""Partition files: what tasks wrote, by the partition of each, whole or not at all."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.engine.trains.partition_files import is_partitionable, partition_files
from penstock.engine.trains.rows import write_parquet_at


def task_writer(values: Mapping[int, list[int]]) -> Callable[[Path], None]:
    """Return what writes a file for each task, as Spark names them."""

    def write(job: Path) -> None:
        for task, numbers in values.items():
            table = pa.table({"pane": pa.array(numbers, pa.int64())})
            write_parquet_at(table, job / f"part-{task:05d}-7a4e-c000.snappy.parquet")

    return write


def test_each_file_has_the_partition_of_its_task_and_empty_ones_are_none(tmp_path: Path) -> None:
    write = task_writer({0: [], 1: [7, 9], 3: [2]})
    made = partition_files(write, tmp_path, "unit-1", (10, 11, 12, 13), "pane")
    assert made is not None
    assert (made.partitions, made.rows.count, made.first, made.last) == ((11, 13), 3, 2, 9)
    assert [pq.read_table(path)["pane"].to_pylist() for path in made.rows.paths] == [[7, 9], [2]]
    assert set(tmp_path.iterdir()) == set(made.rows.paths)


def test_nothing_written_is_nothing(tmp_path: Path) -> None:
    assert partition_files(task_writer({0: []}), tmp_path, "unit-1", (0,), "pane") is None
    assert not list(tmp_path.iterdir())


def test_a_job_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    def fail(job: Path) -> None:
        task_writer({0: [1]})(job)
        raise RuntimeError

    with pytest.raises(RuntimeError):
        partition_files(fail, tmp_path, "unit-1", (0,), "pane")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("kind", "is_one"),
    [
        (pa.string(), True),
        (pa.list_(pa.int32()), True),
        (pa.timestamp("us", "UTC"), True),
        (pa.duration("us"), False),
        (pa.map_(pa.string(), pa.int32()), False),
        (pa.struct([("inside", pa.map_(pa.string(), pa.int32()))]), False),
    ],
)
def test_types_that_files_or_hashes_do_not_know_stay_in_the_driver(
    kind: pa.DataType, is_one: bool
) -> None:
    assert is_partitionable(pa.schema([("k", kind)])) is is_one
