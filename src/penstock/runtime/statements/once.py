"""One-time SELECTs: over streams' buffers and archives, tables, results, late rows, rejects."""

import itertools
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.engine.allowed import Allowed
from penstock.engine.interfaces.rejects import REJECTS
from penstock.engine.spark.jobs.once import Relation, Shape, as_it_is, select_once
from penstock.errors import UnknownColumnError, UnknownNameError
from penstock.grid.space.perspectives import Node
from penstock.model.grids import NO_WINDOW, Window
from penstock.model.own_names import own
from penstock.plan.operators import table_view
from penstock.plan.select.once import clips, over_views, place_of_column
from penstock.runtime.definitions.definition_binder import DefinitionBinder
from penstock.runtime.definitions.rules import Rules, find
from penstock.runtime.definitions.streams import file_of
from penstock.runtime.durable.home import Home
from penstock.runtime.names.directory import KnownQuery, KnownRule, KnownStream, KnownTable
from penstock.runtime.queries.contents import Contents
from penstock.runtime.queries.late_rows import LateRows
from penstock.runtime.statements.cells import CellReader
from penstock.runtime.statements.once_functions import OnceFunctions
from penstock.runtime.statements.settings import StatementLimit
from penstock.runtime.views.inspected import Inspected
from penstock.runtime.views.relations.rules import dead_letters
from penstock.runtime.views.schema import VIEWS

SYSTEM = "system"  # the schema of what SHOW tells
_numbers = itertools.count()


@dataclass(frozen=True, slots=True)
class NamedRows:
    """Reads what a name in FROM stands for: contents, what was put aside, views of the system."""

    contents: Contents
    late: LateRows
    home: Home
    rules: Rules
    inspected: Inspected

    def read(self, name: str, reading: ExitStack) -> Relation:
        """Return the rows of a name; files that they are in stay until `reading` ends."""
        if (held := self.contents.relation(name, reading)) is not None:
            return held
        owner, _, part = name.rpartition(".")
        reader = self._beside(owner, part.lower())
        if reader is None and owner.lower() == SYSTEM and part.lower() in VIEWS:
            return VIEWS[part.lower()].table(self.inspected)
        if reader is None:
            raise UnknownNameError(
                f"no stream, table, query or event {name}",
                hint="SHOW STREAMS, SHOW TABLES, SHOW QUERIES and SHOW EVENTS list what there is; "
                "SHOW VIEWS lists system.queries and its like; "
                "what was left aside is query.late, query.held, stream.rejects and rule.dead",
            )
        return reader()

    def _beside(self, owner: str, part: str) -> Callable[[], pa.Table] | None:
        """Return what reads the rows that something put aside."""
        match self.contents.directory.get(owner), part:
            case KnownQuery() as query, "late":
                return partial(self.late.of, query)
            case KnownQuery() as query, "held":
                return partial(self.late.held, query)
            case KnownStream() as stream, "rejects":
                return partial(self._rejects, stream)
            case KnownRule(), "dead":
                return partial(self._dead, owner)
            case _:
                return None

    def _rejects(self, known: KnownStream) -> pa.Table:
        """Return what did not fit a stream's schema."""
        paths = sorted(self.home.rejects(file_of(known.scan)).glob("*.parquet"))
        tables = [pq.read_table(path, schema=REJECTS, partitioning=None) for path in paths]
        return pa.concat_tables([REJECTS.empty_table(), *tables])

    def _dead(self, name: str) -> pa.Table:
        _, rule = find(self.rules.directory, self.rules.topology, name)
        return dead_letters(rule, self.rules.pending_actions)


@dataclass(frozen=True, slots=True)
class OneTimeSelects:
    """Answers SELECTs over what is there now; cells of up to `driver_rows` readings by itself."""

    rows: NamedRows
    binder: DefinitionBinder
    limit: StatementLimit
    allowed: Callable[[], Allowed]
    driver_rows: int

    def run(self, select: Any) -> pa.Table:
        """Return the rows of a SELECT."""
        with ExitStack() as reading:  # what an archive has now stays until the answer is there
            answer = partial(self._answer, reading)
            rows = partial(self.rows.read, reading=reading)
            select, cells = self.cells(reading).called(select)
            functions = OnceFunctions(self.binder, self.limit, rows, answer)
            select, called = functions.called(select, {})
            return answer(select, called | cells)

    def cells(self, reading: ExitStack) -> CellReader:
        """Return what computes the cells of bases and perspectives for one statement."""
        return CellReader(
            self.binder.directory,
            self.allowed,
            lambda select, shape: self._answer(reading, select, {}, shape),
            self.driver_rows,
        )

    def surface(self, select: Any) -> tuple[Node, Window]:
        """Return the perspective that a SELECT reads, over its readings, and within what."""
        (clipped,) = clips(select)
        window = clipped.window or NO_WINDOW
        with ExitStack() as reading:
            return self.cells(reading).filled(clipped.name, window), window

    def explain_cells(self, name: str, window: Window) -> str:
        """Return how a base's or a perspective's cells are computed."""
        with ExitStack() as reading:
            return self.cells(reading).explained(name, window)

    def _answer(
        self,
        reading: ExitStack,
        select: Any,
        called: Mapping[str, pa.Table],
        shape: Shape = as_it_is,
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
            known = None if name.lower() in called else self.binder.directory.get(name)
            if isinstance(known, KnownTable):
                return table_view(known.definition.name, known.incarnation)
            view = f"{prefix}_{len(relations)}"
            there = called.get(name.lower())
            relations[view] = self.rows.read(name, reading) if there is None else there
            return view

        sql = over_views(select, view_of)
        try:
            large = self.binder.sessions.large
            return select_once(large, sql, relations, self.limit.within, meant, shape)
        except UnknownColumnError as error:
            error.place = place_of_column(select, error.message)
            raise
