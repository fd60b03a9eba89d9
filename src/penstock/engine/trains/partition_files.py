"""Rows in partitions: Parquet files that tasks wrote, each with the rows of one hash of their keys.

<unit>-<run>-<what>-<draft>.job/part-00003-….parquet     while the job is at work
<unit>-<run>-<what>-<draft>-00003.parquet                partition 3, once all of them are whole
"""

import shutil
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql.pandas.types import from_arrow_schema

from penstock.engine.trains.rows import Rows
from penstock.engine.trains.train_files import UNSTORED

UNHASHED = ("map<",)  # types that no hash tells apart


@dataclass(frozen=True, slots=True)
class PartitionFiles:
    """Rows, the partition of each of their files, and the first and last value of a column."""

    rows: Rows
    partitions: tuple[int, ...]
    first: int
    last: int


def partition_files(
    write: Callable[[Path], object],
    directory: Path,
    name: str,
    numbers: Sequence[int],
    column: str,
) -> PartitionFiles | None:
    """Have tasks write below a new directory, and return what then lies in `directory`, if any.

    The first task writes the first of the partitions of these `numbers`. `column` is one of whole
    numbers without nulls. What fails leaves nothing behind.
    """
    draft = directory / f"{name}-{uuid.uuid4().hex[:8]}"
    job = draft.with_suffix(".job")
    try:
        write(job)
        return _taken(job, draft, numbers, column)
    finally:
        shutil.rmtree(job, ignore_errors=True)


def _taken(job: Path, draft: Path, numbers: Sequence[int], column: str) -> PartitionFiles | None:
    full = {
        numbers[_task_of(path)]: (path, footer)
        for path in sorted(job.glob("part-*.parquet"))
        if (footer := pq.read_metadata(path)).num_rows
    }
    if not full:
        return None
    spans = [_span(footer, column) for _, footer in full.values()]
    paths = []
    for number, (path, _) in full.items():
        paths.append(draft.with_name(f"{draft.name}-{number:05d}.parquet"))
        path.replace(paths[-1])
    count = sum(footer.num_rows for _, footer in full.values())
    first, last = min(low for low, _ in spans), max(high for _, high in spans)
    return PartitionFiles(Rows(count, None, tuple(paths)), tuple(full), first, last)


def _task_of(path: Path) -> int:
    """Return the number of the task that wrote a file."""
    return int(path.name.split("-")[1])


def _span(footer: pq.FileMetaData, column: str) -> tuple[int, int]:
    place = footer.schema.names.index(column)
    found = [footer.row_group(n).column(place).statistics for n in range(footer.num_row_groups)]
    return min(each.min for each in found), max(each.max for each in found)


def is_partitionable(schema: pa.Schema) -> bool:
    """Say whether tasks can keep rows of a schema as they are, and tell them apart by any key."""
    nameless = pa.schema([field.with_name(str(place)) for place, field in enumerate(schema)])
    types = from_arrow_schema(nameless).simpleString().lower()
    return not any(each in types for each in (*UNSTORED, *UNHASHED))
