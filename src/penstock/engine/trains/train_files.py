"""Large trains: rows that the tasks of a job wrote themselves, and the driver knows by their files.

    <unit>-<run>-<draft>.job/part-00000-….parquet      while the job is at work
    <unit>-<run>-<draft>-00000.parquet                 one task's rows, once all of them are whole

The order of the rows is that of the files by their numbers, and inside a file as they lie
(docs/decisions/0062).
"""

import shutil
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.engine.trains.rows import Rows, empty_table, fit, in_memory, read_parquet
from penstock.engine.trains.types import arrow_schema
from penstock.model.schema import Schema

# A scan that keeps the order of files has a leaf of a plan for each; sixteen are planned in 0.3 s.
MOST_FILES = 16
UNSTORED = ("interval", "variant", "void", "geography", "geometry")  # types no file is sure to keep


@dataclass(frozen=True, slots=True)
class Outlook:
    """What is known of a run's rows before there are any; `name` is that of their files."""

    rows: float = 0.0
    size: float = 0.0
    name: str = ""


NOTHING_KNOWN = Outlook()


@dataclass(frozen=True, slots=True)
class LargeBound:
    """Rows and bytes above which a train goes to files without passing the driver."""

    rows: int
    size: int

    def is_passed(self, outlook: Outlook, times: int = 1) -> bool:
        """Say whether rows will be more than so many times the bound."""
        return outlook.rows > times * self.rows or outlook.size > times * self.size


def is_storable(schema: Schema) -> bool:
    """Say whether files keep rows of the schema as they are."""
    names = {column.name.lower() for column in schema}
    types = [column.type.lower() for column in schema]
    return len(names) == len(types) > 0 and not any(
        unstored in each for unstored in UNSTORED for each in types
    )


def end_to_end(made: Sequence[Rows | pa.Table], schema: Schema, directory: Path) -> Rows | pa.Table:
    """Return the rows of several pieces as one: in files where one of them is."""
    if len(made) == 1:
        return made[0]
    tables = [each for each in made if isinstance(each, pa.Table)]
    if len(tables) == len(made):
        return pa.concat_tables(tables) if tables else empty_table(schema)
    rows = [each if isinstance(each, Rows) else in_memory(each) for each in made]
    for each in rows:
        if each.count:
            each.to_disk(directory)
    paths = tuple(path for each in rows for path in each.paths)
    return Rows(sum(each.count for each in rows), None, paths, in_order=True)


def written_by(
    write: Callable[[Path], object], directory: Path, name: str, schema: Schema, few: int
) -> Rows:
    """Have tasks write below a new directory, and return the rows that then lie in `directory`.

    No more than `few` are read into memory after all. What fails leaves nothing behind.
    """
    draft = directory / f"{name}-{uuid.uuid4().hex[:8]}"
    job = draft.with_suffix(".job")
    try:
        write(job)
        return _taken(job, draft, schema, few)
    finally:
        shutil.rmtree(job, ignore_errors=True)


def _taken(job: Path, draft: Path, schema: Schema, few: int) -> Rows:
    counts = {path: pq.read_metadata(path).num_rows for path in sorted(job.glob("part-*.parquet"))}
    full = [path for path, count in counts.items() if count]
    total = sum(counts.values())
    if total <= few:
        return in_memory(fit(read_parquet(full, schema), arrow_schema(schema)))
    paths = [draft.with_name(f"{draft.name}-{n:05d}.parquet") for n in range(len(full))]
    for old, new in zip(full, paths, strict=True):
        old.replace(new)
    return Rows(total, None, tuple(paths), in_order=True)
