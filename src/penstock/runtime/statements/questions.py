"""Statements that ask: SELECT, SHOW, DESCRIBE, EXPLAIN; and those that change no definition."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyarrow as pa

from penstock.errors import BadQueryError
from penstock.model.grids import NO_WINDOW, Window
from penstock.plan.select.once import Clipped, clips
from penstock.runtime.names.directory import KnownGrid
from penstock.runtime.queries.admission import Admission
from penstock.runtime.queries.tuner import Tuner
from penstock.runtime.statements.once import OneTimeSelects
from penstock.runtime.statements.result import Result
from penstock.runtime.statements.settings import set_join_memory, set_timeout
from penstock.runtime.statements.written_files import WrittenFiles
from penstock.runtime.views.description import describe
from penstock.runtime.views.explain.estimate import estimate_text
from penstock.runtime.views.explain.event_graph import event_text
from penstock.runtime.views.explain.plan import Explainer, graph_text
from penstock.runtime.views.explain.schedule import schedule_json, schedule_text
from penstock.runtime.views.inspected import Inspected
from penstock.runtime.views.relations.topology.sites import SITES, site_rows
from penstock.runtime.views.schema import show
from penstock.runtime.views.site_report import sites_as_json, write_sites
from penstock.sql import (
    CreateQuery,
    Describe,
    Explain,
    ExplainAll,
    ExplainEstimate,
    ExplainEvent,
    ExplainSchedule,
    OptimizeQuery,
    SelectOnce,
    SetJoinMemory,
    SetTimeout,
    Show,
    Statement,
)


@dataclass(frozen=True, slots=True)
class Questions:
    """Answers from what is there now."""

    inspected: Inspected
    selects: OneTimeSelects
    tuner: Tuner
    admission: Admission
    files: WrittenFiles

    def carry_out(self, statement: Statement) -> Result:
        """Return the answer to one statement."""
        of, binder = self.inspected, self.selects.binder
        match statement:
            case SelectOnce(select=select):
                return Result(table=self.selects.run(select))
            case Show() if statement.name or statement.as_json or statement.into:
                return self._sites(statement)
            case Show(what=what):
                return Result(table=show(of, what))
            case Describe(name=name):
                return Result(table=describe(of.directory, of.types, of.functions, name))
            case Explain(subject=subject) if (cells := self._cells(subject)) is not None:
                return Result(self.selects.explain_cells(*cells))
            case Explain(subject=subject):
                explainer = Explainer(of.supervisor, of.sessions, self.tuner)
                return Result(explainer.text(binder.subject(subject)))
            case ExplainEvent(name=name, form=form):
                return Result(event_text(of.directory, of.supervisor, name, form))
            case ExplainAll(form=form):
                return Result(graph_text(of.supervisor, form))
            case ExplainEstimate(subject=subject):
                known, what_if = binder.subject(subject), self.admission.what_if
                return Result(estimate_text(known, of.supervisor, what_if, of.clock.now()))
            case ExplainSchedule():
                return self._schedule(statement)
            case OptimizeQuery(name=name):
                return Result(self.tuner.optimize(name))
            case SetTimeout():
                return Result(set_timeout(self.selects.limit, statement))
            case SetJoinMemory():
                return Result(set_join_memory(self.selects.limit.processor, statement))
            case _:
                raise BadQueryError(f"{type(statement).__name__} cannot be carried out")

    def _cells(self, subject: str | SelectOnce | CreateQuery) -> tuple[str, Window] | None:
        """Return the perspective that an EXPLAIN is about, and within what, or None."""
        if isinstance(subject, CreateQuery):
            return None
        named = (
            [Clipped(subject, None, None)] if isinstance(subject, str) else clips(subject.select)
        )
        for each in named:
            if isinstance(self.selects.binder.directory.get(each.name), KnownGrid):
                return each.name, each.window or NO_WINDOW
        return None

    def _sites(self, statement: Show) -> Result:
        """Show the sites of one query, or write what sites did."""
        rows = site_rows(self.inspected.directory, self.inspected.supervisor, statement.name)
        if statement.into:
            return Result(self.files.write(statement.into, partial(write_sites, rows)))
        if statement.as_json:
            return Result(sites_as_json(rows))
        return Result(table=pa.Table.from_pylist(rows, SITES.columns))

    def _schedule(self, statement: ExplainSchedule) -> Result:
        explain = schedule_json if statement.form == "JSON" else schedule_text
        text = explain(self.inspected.supervisor, self.inspected.clock.now())
        if not statement.into:
            return Result(text)

        def write(path: Path) -> None:
            path.write_text(f"{text}\n", encoding="utf-8")

        return Result(self.files.write(statement.into, write))
