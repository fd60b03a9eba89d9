"""Streams' logs, stored files and sinks of a home, compared with what the journal has."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.catalog import CatalogEntry
from penstock.engine.interfaces.pushed.log_repair import Fault, faults, mend
from penstock.engine.interfaces.pushed.push_log import Place
from penstock.engine.sinks.files import ASIDE, FilesSink, unknown_parts
from penstock.errors import PenstockError
from penstock.model.definitions import QueryDefinition
from penstock.plan.operators import Scan, key
from penstock.runtime.definitions.streams import file_of, scan_of
from penstock.runtime.durable.home import file_name
from penstock.runtime.durable.journal_sqlite import SqliteJournal
from penstock.runtime.durable.manifest import Checkpoint
from penstock.runtime.home_check.finding import Finding, set_aside
from penstock.runtime.names.stream_types import StreamTypes
from penstock.runtime.sources.archive import give_up
from penstock.runtime.work.live_query import READER
from penstock.sql import CreateQuery, CreateStream, CreateType, parse

ROOMS = ("archive", "rejects", "late", "tables", "results")


@dataclass(frozen=True, slots=True)
class StoredDefinitions:
    """The streams and queries that a catalog has, and what of it cannot be read."""

    streams: list[Scan] = field(default_factory=list)
    queries: list[QueryDefinition] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)


def definitions(entries: Sequence[CatalogEntry]) -> StoredDefinitions:
    """Read the catalog's entries."""
    known, types = StoredDefinitions(), StreamTypes()
    for entry in entries:
        try:
            match parse(entry.text)[0]:
                case CreateType(definition=kind):
                    types.add(types.made(kind))
                case CreateStream(definition=stream):
                    known.streams.append(scan_of(types.resolved(stream), entry.incarnation))
                case CreateQuery(definition=query):
                    known.queries.append(query)
                case _:
                    pass  # tables, events, rules and functions have nothing of their own here
        except PenstockError as error:
            known.findings.append(Finding(f"definition of {entry.name}", error.message))
    return known


def log_findings(
    home: Path, streams: Sequence[Scan], journal: SqliteJournal, last: Checkpoint | None
) -> Iterator[Finding]:
    """Return what is found of the push logs."""
    for scan in streams:
        directory = home / "streams" / file_name(file_of(scan))
        places = _places(key(scan), journal, last)
        if not places and not any(directory.glob("*.log")):
            continue
        found = faults(directory, places)
        yield from (_log_finding(scan.stream, fault, places) for fault in found)
        if not found:
            yield Finding(f"push log of {scan.stream}")


def file_findings(home: Path) -> Iterator[Finding]:
    """Return what is found of the files of archives, rejects, late rows, tables and results."""
    for room in ROOMS:
        paths = [path for path in sorted((home / room).glob("*/*")) if path.is_file()]
        damaged = [(path, wrong) for path in paths if (wrong := _unreadable(path))]
        for path, wrong in damaged:
            mend_it = partial(_give_up, home, path)
            yield Finding(str(path.relative_to(home)), wrong, "set it aside", mend_it)
        if not damaged and (home / room).is_dir():
            yield Finding(f"{room}: {len(paths)} files")


def sink_findings(
    queries: Sequence[QueryDefinition], journal: SqliteJournal, last: Checkpoint | None
) -> Iterator[Finding]:
    """Return what is found of the directories of file sinks."""
    for query in queries:
        if query.sink is None or query.sink.name != "files":
            continue
        sink = FilesSink(query)
        known = _known_deliveries(query.name.lower(), journal, last)
        what = f"sink of {query.name}"
        if unknown := unknown_parts(sink.path, known):
            wrong = f"{len(unknown)} files are not in the journal, from {unknown[0]} on"
            remedy = f"set them aside in {sink.path / ASIDE}, as the next start does"
            yield Finding(what, wrong, remedy, partial(sink.set_aside, known))
        else:
            yield Finding(what)
        for path in sorted(sink.path.glob("part-*.parquet")):
            if wrong := _unreadable(path):
                yield Finding(str(path), wrong)


def _places(stream: str, journal: SqliteJournal, last: Checkpoint | None) -> set[Place]:
    """Return the places of a stream's log that the journal has."""
    kept = last.manifest.source_readers.get(stream) if last is not None else None
    boundaries = [kept.boundary] if kept is not None else []
    boundaries += [train.boundary for train in journal.trains_after(stream, 0)]
    found = [each for each in boundaries if isinstance(each, Mapping) and "segment" in each]
    return {(each["segment"], each[edge]) for each in found for edge in ("from", "to")}


def _known_deliveries(name: str, journal: SqliteJournal, last: Checkpoint | None) -> int:
    kept = last.manifest.queries.get(name) if last is not None else None
    recorded = journal.last_delivery(f"{READER}{name}")
    if kept is None:
        return recorded
    runs = journal.runs_after(f"{READER}{name}", kept.runs)
    return max(recorded, kept.delivered + len(runs))


def _log_finding(stream: str, fault: Fault, places: set[Place]) -> Finding:
    what = f"push log of {stream}"
    if not fault.can_be_mended:
        return Finding(what, fault.told)
    remedy = (
        "cut it off; it is kept beside the log"
        if fault.torn
        else "go on without its tuples; the file is kept beside the log"
    )
    return Finding(what, fault.told, remedy, partial(mend, fault, places))


def _give_up(home: Path, path: Path) -> None:
    if path.is_relative_to(home / "archive"):
        give_up(path)
    set_aside(home, [path])


def _unreadable(path: Path) -> str:
    """Return why a file cannot be read, or nothing; others' files are left alone."""
    try:
        if path.suffix == ".parquet":
            with pq.ParquetFile(path, page_checksum_verification=True) as file:
                for group in range(file.num_row_groups):
                    file.read_row_group(group)
        elif path.suffix == ".arrow":
            pa.ipc.open_file(path.read_bytes()).read_all()
        elif path.suffix == ".json":
            json.loads(path.read_bytes())
    except (OSError, pa.ArrowException, ValueError) as error:
        return f"it is damaged: {str(error).partition(chr(10))[0]}"
    return ""
