"""What systems have answered, as bags of rows that can be compared."""

import csv
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from benchmarks.many.processes import CannotCopeError
from benchmarks.many.queries import Query, StreamJoin, Type

Bag = Counter[tuple[str, ...]]


class OtherRowsError(CannotCopeError):
    """A system does not say what the others say."""


def compare(system: str, queries: Iterable[Query], told: Path, expected: Path, until: int) -> int:
    """Return how many rows agree; raise OtherRowsError where one query's do not."""
    total = 0
    for query in queries:
        ours, theirs = bag(query, told, until), bag(query, expected, until)
        if ours != theirs:
            raise OtherRowsError(
                f"{system} gives other rows for {query.name}: {_shown(ours, theirs)}"
            )
        total += theirs.total()
    return total


def bag(query: Query, directory: Path, until: int) -> Bag:
    """Return a query's rows, those of windows that had not closed at `until` left out."""
    columns = query.columns
    rows = _from_parquet(directory / f"{query.name}.parquet", list(columns))
    rows = rows or _from_csv(directory / query.name, list(columns))
    plain = (
        tuple(_plain(value, kind) for value, kind in zip(row, columns.values(), strict=True))
        for row in rows
    )
    if isinstance(query, StreamJoin):
        return Counter(plain)
    return Counter(row for row in plain if int(row[1]) <= until)


def _shown(ours: Bag, theirs: Bag) -> str:
    missing, extra = theirs - ours, ours - theirs
    return (
        f"{missing.total()} missing, such as {next(iter(missing), None)}; "
        f"{extra.total()} too many, such as {next(iter(extra), None)}"
    )


def _from_parquet(file: Path, columns: list[str]) -> list[tuple[Any, ...]]:
    if not file.exists():
        return []
    table = pq.read_table(file).select(columns)
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def _from_csv(directory: Path, columns: list[str]) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in _csv_rows(directory) if len(row) == len(columns)]


def _csv_rows(directory: Path) -> Iterator[list[str]]:
    for file in sorted(directory.rglob("part-*")) if directory.exists() else ():
        with file.open(newline="") as lines:
            yield from csv.reader(lines)


def _plain(value: Any, kind: Type) -> str:
    match kind:
        case "time":
            at = datetime.fromisoformat(value) if isinstance(value, str) else value
            at = at if at.tzinfo else at.replace(tzinfo=UTC)
            return str(round(at.timestamp() * 1_000_000))
        case "double":
            return f"{float(value):.9g}"
        case "int" | "text":
            return str(value)
