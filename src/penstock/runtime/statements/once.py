"""One-time SELECTs: over streams' buffers and archives, tables, results, late rows, rejects."""

import itertools
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.engine.interfaces.rejects import REJECTS
from penstock.engine.spark.once import Relation, select_once
from penstock.engine.trains.rows import empty_table
from penstock.engine.trains.types import arrow_schema
from penstock.engine.trains.unlike_rows import unlike_rows
from penstock.errors import UnknownColumnError, UnknownNameError
from penstock.model.own_names import own
from penstock.plan.operators import key, table_view
from penstock.plan.operators.lateness import HELD, flows_in, judges, late_schema, takes_tuples
from penstock.plan.select.once import over_views, place_of_column
from penstock.runtime.names.directory import KnownQuery, KnownRule, KnownStream, KnownTable
from penstock.runtime.statements.once_functions import OnceFunctions, in_time
from penstock.runtime.system.defining import file_of
from penstock.runtime.system.held import relation_of
from penstock.runtime.system.rules import find
from penstock.runtime.system.system import System
from penstock.runtime.views.relations.rules import dead_letters
from penstock.runtime.views.schema import VIEWS

SYSTEM = "system"  # the schema of what SHOW tells
_numbers = itertools.count()


def run_once(system: System, select: Any) -> pa.Table:
    """Return the rows of a SELECT over what is there now."""
    with ExitStack() as reading:  # what an archive has now stays until the answer is there
        functions = OnceFunctions(
            system, lambda name: _rows(system, name, reading), partial(_answer, system, reading)
        )
        return _answer(system, reading, *functions.called(select, {}))


def _answer(
    system: System, reading: ExitStack, select: Any, called: Mapping[str, pa.Table]
) -> pa.Table:
    """Return the rows of a SELECT; `called` are names that stand for what functions gave."""
    relations: dict[str, Relation] = {}
    meant: dict[str, str] = {}
    prefix = own(f"once_{next(_numbers)}")

    def view_of(name: str) -> str:
        view = view_for(name)
        meant[view] = name
        return view

    def view_for(name: str) -> str:
        known = None if name.lower() in called else system.directory.get(name)
        if isinstance(known, KnownTable):
            return table_view(known.definition.name, known.incarnation)
        view = f"{prefix}_{len(relations)}"
        there = called.get(name.lower())
        relations[view] = _rows(system, name, reading) if there is None else there
        return view

    sql = over_views(select, view_of)
    try:
        within = partial(in_time, system)
        return select_once(system.sessions.large, sql, relations, within, meant)
    except UnknownColumnError as error:
        error.place = place_of_column(select, error.message)
        raise


def _rows(system: System, name: str, reading: ExitStack) -> Relation:
    if (held := relation_of(system, name, reading)) is not None:
        return held
    owner, _, part = name.rpartition(".")
    known = system.directory.get(owner)
    readers: dict[tuple[type, str], Callable[[], pa.Table]] = {
        (KnownQuery, "late"): lambda: late_rows(system, known),
        (KnownQuery, "held"): lambda: held_rows(system, known),
        (KnownStream, "rejects"): lambda: rejects(system, known),
        (KnownRule, "dead"): lambda: dead_letters(
            find(system.directory, system.topology, owner)[1], system.firings
        ),
    }
    reader = readers.get((type(known), part.lower()))
    if reader is None and owner.lower() == SYSTEM and part.lower() in VIEWS:
        return VIEWS[part.lower()].table(system.inspected)
    if reader is None:
        raise UnknownNameError(
            f"no stream, table, query or event {name}",
            hint="what SHOW shows is system.queries and so on (SHOW VIEWS lists all), "
            "a query's late rows are query.late, what its flow could not carry on query.held, "
            "what did not fit a stream is stream.rejects, "
            "what a rule could not do is rule.dead",
        )
    return reader()


def late_rows(system: System, known: Any) -> pa.Table:
    """Return the tuples that came too late for a query's windows."""
    judged_by = judges(known.root, known.foreign)
    read = [
        (node, _read([system.home.late(key(node))], arrow_schema(late_schema(node))))
        for node in judged_by
    ]
    # Those that read what others have put in order miss nothing: their columns would stay empty.
    tables = [table for node, table in read if table.num_rows or takes_tuples(node, known.foreign)]
    return unlike_rows(tables) if tables else empty_table(known.root.schema)


def held_rows(system: System, known: Any) -> pa.Table:
    """Return the items that the flows of a query could not carry on."""
    directories = [system.home.late(key(flow)) for flow in flows_in(known.root)]
    return _read(directories, arrow_schema(HELD))


def rejects(system: System, known: Any) -> pa.Table:
    """Return what did not fit a stream's schema."""
    paths = sorted(system.home.rejects(file_of(known.scan)).glob("*.parquet"))
    tables = [pq.read_table(path, schema=REJECTS, partitioning=None) for path in paths]
    return pa.concat_tables([REJECTS.empty_table(), *tables])


def _read(directories: list[Path], schema: pa.Schema) -> pa.Table:
    paths = sorted(path for each in directories for path in each.glob("*.parquet"))
    tables = [pq.ParquetFile(path).read().cast(schema) for path in paths]
    return pa.concat_tables([schema.empty_table(), *tables])
