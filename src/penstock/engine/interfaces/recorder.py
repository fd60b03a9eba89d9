"""A recorded stream sorted by event time: made once from files, then read by row number."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pyspark.sql import functions as F  # noqa: N812 - its name everywhere

from penstock.engine.interfaces.durable import read_json, writing
from penstock.engine.interfaces.formats.casts import cast
from penstock.engine.interfaces.formats.listing import FileListing
from penstock.engine.interfaces.formats.parquet import RowGroups
from penstock.engine.interfaces.formats.reader import FilePiece, FormatReader
from penstock.engine.interfaces.frames import SPARK_FAILURES
from penstock.engine.interfaces.interface import Surroundings
from penstock.engine.interfaces.rejects import REJECTS, joined
from penstock.engine.spark.spark_errors import sentence
from penstock.errors import SourceError
from penstock.model.own_names import own
from penstock.model.schema import quoted

ORDER = own("order")
PART_BYTES = 64 << 20  # of a sorted part file
GROUP_BYTES = 4 << 20  # of a row group: what is read for one train


class Recording:
    """Sorted part files, and what did not fit; rows are numbered from zero."""

    def __init__(self, home: Path, manifest: dict[str, Any]) -> None:
        """Take what the manifest lists."""
        self._paths = [home / name for name, _ in manifest["parts"]]
        self._ends = np.cumsum(np.array([rows for _, rows in manifest["parts"]], dtype=np.int64))
        self._held: tuple[int, RowGroups] | None = None
        self.rows = int(self._ends[-1]) if self._paths else 0
        self.rejects = joined([pq.read_table(home / "rejects.parquet", schema=REJECTS)])

    def group(self, row: int) -> tuple[int, int]:
        """Return the bounds of the row group that holds a row."""
        groups, before = self._part(row)
        _, first, last = groups.group_of(row - before)
        return before + first, before + last

    def read(self, first: int, last: int, schema: pa.Schema) -> pa.Table:
        """Return rows of one row group."""
        groups, before = self._part(first)
        rows = groups.read(first - before, last - before, schema.names)
        return pa.table([cast(rows[field.name], field.type) for field in schema], schema=schema)

    def times(self, first: int, last: int, column: str) -> NDArray[np.int64]:
        """Return the event times of rows of one row group, in microseconds."""
        schema = pa.schema([(column, pa.timestamp("us", "UTC"))])
        micros: NDArray[np.int64] = self.read(first, last, schema)[column].cast("int64").to_numpy()
        return micros

    def _part(self, row: int) -> tuple[RowGroups, int]:
        """Return the file that holds a row, and how many rows are before it."""
        part = int(np.searchsorted(self._ends, row, side="right"))
        held = self._held
        if held is None or held[0] != part:
            held = (part, RowGroups(self._paths[part]))
            self._held = held
        return held[1], int(self._ends[part - 1]) if part else 0


def kept_recording(around: Surroundings) -> Recording | None:
    """Return the recording that is there, unless power was lost while it was written."""
    home = around.home / "recording"
    manifest = read_json(home / "manifest.json")
    if manifest is None:
        return None
    for name, size in manifest["sizes"]:
        path = home / name
        if not path.is_file() or path.stat().st_size != size:
            return None
    return Recording(home, manifest)


def make_recording(path: str, reader: FormatReader, time: str, around: Surroundings) -> Recording:
    """Read the user's files, sort them by time, and keep them, whole or not at all."""
    home, draft = around.home / "recording", around.home / "recording.draft"
    with writing(draft):
        for old in (draft, home):
            shutil.rmtree(old, ignore_errors=True)
        (draft / "staged").mkdir(parents=True)
        _stage(_pieces(path, reader, draft, around), reader, draft)
        _sort(draft, time, around)
        shutil.rmtree(draft / "staged")
        manifest = _manifest(draft)
        (draft / "manifest.json").write_text(json.dumps(manifest))
        draft.rename(home)
    return Recording(home, manifest)


def _pieces(
    path: str, reader: FormatReader, draft: Path, around: Surroundings
) -> Iterator[FilePiece]:
    record = FileListing(draft / "files.jsonl")
    record.look(path, around.clock.now())
    for entry in record.entries:
        place, extent = 0, reader.extent(entry)
        if extent is None:
            yield FilePiece(entry)
        while extent is not None and place < extent:
            end = reader.cut(entry, place)
            yield FilePiece(entry, place, end)
            place = end


def _stage(pieces: Iterator[FilePiece], reader: FormatReader, draft: Path) -> None:
    """Write the rows as they come, numbered, and the rejects."""
    order, rejects = 0, list[pa.Table | None]()
    for at, piece in enumerate(pieces):
        got = reader.load([piece])
        rows: pa.Table = got.rows
        numbers = pa.array(np.arange(order, order + rows.num_rows, dtype=np.int64))
        staged = rows.append_column(ORDER, numbers)
        pq.write_table(staged, draft / "staged" / f"{at:06}.parquet")
        order += rows.num_rows
        rejects.append(got.rejects)
    pq.write_table(joined(rejects) or REJECTS.empty_table(), draft / "rejects.parquet")


def _sort(draft: Path, time: str, around: Surroundings) -> None:
    """Sort the staged rows by time, equal times in the order in which they came."""
    staged = sorted((draft / "staged").glob("*.parquet"))
    if not staged:
        return
    parts = 1 + sum(path.stat().st_size for path in staged) // PART_BYTES
    by = [F.col(quoted(name)) for name in (time, ORDER)]
    try:
        frame = around.spark.read.parquet(*map(str, staged))
        frame = frame.repartitionByRange(parts, *by).sortWithinPartitions(*by)
        writer = frame.drop(ORDER).write.option("parquet.block.size", GROUP_BYTES)
        writer.parquet(str(draft / "sorted"))
    except SPARK_FAILURES as error:
        raise SourceError(f"the recording cannot be sorted: {sentence(error)}") from error


def _manifest(draft: Path) -> dict[str, Any]:
    """Return the part files with their rows, and the size of every file."""
    parts = sorted((draft / "sorted").glob("*.parquet"))
    counts = [(path, pq.read_metadata(path).num_rows) for path in parts]
    files = [*parts, draft / "rejects.parquet"]
    return {
        "parts": [[str(path.relative_to(draft)), rows] for path, rows in counts if rows],
        "sizes": [[str(path.relative_to(draft)), path.stat().st_size] for path in files],
    }
