"""One-time SELECTs: over streams' buffers and archives, tables, results, late rows, rejects."""

import itertools
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.engine.once import Relation, Stored, select_once
from penstock.engine.rows import empty_table
from penstock.engine.types import arrow_schema
from penstock.errors import BadQueryError, UnknownColumnError, UnknownNameError
from penstock.model.schema import Column, Schema
from penstock.plan.lateness import judges, late_schema
from penstock.plan.once import over_views, place_of_column
from penstock.plan.operators import key, table_view
from penstock.runtime.archive import covers
from penstock.runtime.directory import (
    KnownEvent,
    KnownQuery,
    KnownRule,
    KnownStream,
    KnownTable,
)
from penstock.runtime.rules_shown import dead_letters
from penstock.runtime.system import System, file_of, watching

REJECTS = Schema((Column("raw", "string"), Column("reason", "string")))
_numbers = itertools.count()


def run_once(system: System, select: Any) -> pa.Table:
    """Return the rows of a SELECT over what is there now."""
    relations: dict[str, Relation] = {}
    prefix = f"penstock_once_{next(_numbers)}"

    def view_of(name: str) -> str:
        known = system.directory.get(name)
        if isinstance(known, KnownTable):
            return table_view(known.definition.name, known.incarnation)
        view = f"{prefix}_{len(relations)}"
        relations[view] = _rows(system, name, reading)
        return view

    with ExitStack() as reading:  # what an archive has now stays until the answer is there
        sql = over_views(select, view_of)
        try:
            return select_once(system.sessions.large, sql, relations)
        except UnknownColumnError as error:
            error.place = place_of_column(select, error.message)
            raise


def _rows(system: System, name: str, reading: ExitStack) -> Relation:
    known = system.directory.get(name)
    if isinstance(known, KnownStream):
        return _kept(system, known, reading)
    if isinstance(known, KnownQuery):
        return _results(system, known)
    if isinstance(known, KnownEvent):
        return _detections(system, known)
    owner, _, part = name.rpartition(".")
    known = system.directory.get(owner)
    readers: dict[tuple[type, str], Callable[[], pa.Table]] = {
        (KnownQuery, "late"): lambda: late_rows(system, known),
        (KnownStream, "rejects"): lambda: rejects(system, known),
        (KnownRule, "dead"): lambda: dead_letters(system, owner),
    }
    reader = readers.get((type(known), part.lower()))
    if reader is None:
        raise UnknownNameError(
            f"no stream, table, query or event {name}",
            hint="a query's late rows are query.late, what did not fit a stream is stream.rejects, "
            "what a rule could not do is rule.dead",
        )
    return reader()


def _kept(system: System, known: KnownStream, reading: ExitStack) -> Relation:
    """Return what a stream's archive and buffer hold, each train once."""
    scan = known.scan
    buffer = system.plant.buffers.open(key(scan), known.definition.schema)
    archive = system.plant.archives.get(key(scan))
    if archive is None:
        return buffer.to_table()
    with system.plant.buffers.lock:  # no train leaves the buffer between the two looks
        pieces = reading.enter_context(archive.reading())
        rest = buffer.to_table(without=lambda number: covers(pieces, number))
    files = tuple(piece.path for piece in pieces)
    return Stored(scan.schema, sum(piece.rows for piece in pieces), files, rest)


def _results(system: System, known: KnownQuery) -> pa.Table:
    live = system.plant.queries.get(known.definition.name.lower())
    log = live.log if live is not None else system.result_log(known.definition.name)
    kept = log.table()
    return kept if kept is not None else empty_table(known.root.schema)


def _detections(system: System, known: KnownEvent) -> pa.Table:
    """Return what was detected since somebody has first subscribed to an event."""
    name = known.definition.name
    entry = system.catalog.get(name)
    if entry is None or entry.state is None:
        raise BadQueryError(
            f"nobody keeps the detections of event {name}",
            hint=f"subscribe to it, or CREATE QUERY … AS SELECT * FROM {name}",
        )
    return _results(system, watching(known))


def late_rows(system: System, known: Any) -> pa.Table:
    """Return the tuples that came too late for a query's windows."""
    judged_by = judges(known.root)
    if not judged_by:
        return empty_table(known.root.schema)
    schemas = [late_schema(node) for node in judged_by]
    tables = [
        _read([system.home.late(key(node))], arrow_schema(schema))
        for node, schema in zip(judged_by, schemas, strict=True)
    ]
    return pa.concat_tables(tables, promote_options="default")


def rejects(system: System, known: Any) -> pa.Table:
    """Return what did not fit a stream's schema."""
    return _read([system.home.rejects(file_of(known.scan))], arrow_schema(REJECTS))


def _read(directories: list[Path], schema: pa.Schema) -> pa.Table:
    paths = sorted(path for each in directories for path in each.glob("*.parquet"))
    tables = [pq.ParquetFile(path).read().cast(schema) for path in paths]
    return pa.concat_tables([schema.empty_table(), *tables])
