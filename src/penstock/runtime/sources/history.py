"""History: what a stream has had and still keeps, in its archive and in its buffer."""

import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow.parquet as pq

from penstock.engine.trains.buffers import Buffer, Train
from penstock.engine.trains.rows import Rows, link_or_copy
from penstock.errors import BadQueryError
from penstock.runtime.sources.archive import Archive, covers

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def history_of(buffer: Buffer, archive: Archive | None, upto: int, spill: Path) -> list[Rows]:
    """Return the rows of the trains up to that number, in order, each train once.

    They are the caller's: files get one more name below `spill`, so that neither the buffer nor
    the archive takes them away. Only while quiesced.
    """
    pieces = archive.pieces() if archive is not None else []
    found = [
        (piece.first, _pinned(piece.path, piece.rows, spill))
        for piece in pieces
        if piece.last <= upto
    ]
    for train in buffer.held():
        number = train.info.number
        if number <= upto and train.rows.count and not covers(pieces, number):
            found += [(number, rows) for rows in _rows_of(train, spill)]
    return [rows for _, rows in sorted(found, key=lambda pair: pair[0])]


def complete_from(buffer: Buffer, archive: Archive | None) -> int | None:
    """Return the time (microseconds) from which on every tuple is there, or None without any."""
    if archive is not None and archive.complete_from is not None:
        return archive.complete_from
    if archive is None and buffer.gone is not None:
        return buffer.gone + 1
    return min((t.info.first for t in buffer.held() if t.info.first is not None), default=None)


def lost_before(buffer: Buffer, archive: Archive | None) -> int | None:
    """Return the time (microseconds) before which tuples are gone, None where none is."""
    if archive is not None:
        return archive.complete_from
    return None if buffer.gone is None else buffer.gone + 1


def gone_before(stream: str, begins: int | None) -> BadQueryError:
    """Return the error for a window that reaches back behind a stream's history."""
    if begins is None:
        told = f"{stream} has no history yet"
    else:
        told = f"the history of {stream} begins at {EPOCH + timedelta(microseconds=begins)}"
    return BadQueryError(told, hint="ARCHIVE FOR INTERVAL … keeps a stream's tuples for longer")


def _rows_of(train: Train, spill: Path) -> Iterator[Rows]:
    if train.rows.table is not None:
        yield Rows(train.rows.count, train.rows.table)
        return
    for path in train.rows.paths:
        yield _pinned(path, pq.read_metadata(path).num_rows, spill)


def _pinned(path: Path, count: int, spill: Path) -> Rows:
    spill.mkdir(parents=True, exist_ok=True)
    name = spill / f"{uuid.uuid4().hex}.parquet"
    return Rows(count, None, (link_or_copy(path, name),))
