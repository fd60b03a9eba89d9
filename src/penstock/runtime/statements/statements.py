"""Statements, carried out one by one; a script stands as a whole, or not at all."""

import itertools
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from penstock.catalog import CatalogEntry
from penstock.errors import InUseError, NotRepeatableError, PenstockError, Place
from penstock.runtime.definitions.definition_binder import DefinitionBinder
from penstock.runtime.loop.quiescence import Quiescence
from penstock.runtime.names.stream_types import catalog_name
from penstock.runtime.queries.admission import Admission
from penstock.runtime.statements.changes import Change, Changes
from penstock.runtime.statements.questions import Questions
from penstock.runtime.statements.result import Result
from penstock.sql import CreateQuery, Drop, Statement, parse, place_of_call, place_of_present

MOST_REHEARSED = 20  # queries of a script: each is bound twice then, in some milliseconds


def approved() -> None:
    """Accept any existing definition."""


@dataclass(frozen=True, slots=True)
class Statements:
    """Carries out scripts, in any thread."""

    quiescence: Quiescence
    admission: Admission
    changes: Changes
    questions: Questions
    binder: DefinitionBinder

    def execute(self, text: str, approve: Callable[[], None] = approved) -> list[Result]:
        """Carry out a script. Sources start only when all of it stands.

        Where a statement fails, or `approve` raises once all stands, what the script added is
        dropped before anything has flowed: the corrected script meets the home as it was. What it
        dropped or replaced is gone.
        """
        try:
            return self._execute(parse(text), approve)
        except PenstockError as error:
            if error.place is not None and not error.place.source:
                error.place = replace(error.place, source=text)
            raise

    def carry_out(self, statement: Statement) -> Result:
        """Carry out one statement; changes only while quiesced."""
        if isinstance(statement, Change):
            return Result(self.changes.carry_out(statement))
        return self.questions.carry_out(statement)

    def _execute(self, statements: list[Statement], approve: Callable[[], None]) -> list[Result]:
        if not any(isinstance(each, Change) for each in statements):
            results = [self._placed(each) for each in statements]
            approve()
            return results
        self._rehearse(statements)
        failure: PenstockError | None = None
        catalog, quiescence = self.changes.definitions.catalog, self.quiescence
        changing = quiescence.adding if _only_add(statements) else quiescence.between_runs
        with changing(), catalog.together():
            before = {entry.name.lower() for entry in catalog.all()}
            try:
                results = self._carried_out(statements)
                approve()
            except PenstockError as error:
                failure = error
                self._take_back(before)
            if self.quiescence.topology.waiting:
                self.admission.admit()
        if failure is not None:  # raised here: the checkpoint and the catalog are to be written
            raise failure
        return results

    def _rehearse(self, statements: Sequence[Statement]) -> None:
        """Have Spark analyse new queries before anything is held still for them."""
        queries = [each for each in statements if isinstance(each, CreateQuery)]
        if self.quiescence.is_working and len(queries) <= MOST_REHEARSED:
            for each in queries:
                self.binder.rehearse(each)

    def _carried_out(self, statements: list[Statement]) -> list[Result]:
        """Carry out a script in parts after each of which the graph must be as the script says.

        Where queries only come, or only go, it is the same whether it is cut after each or once.
        """
        results: list[Result] = []
        for _, alike in itertools.groupby(statements, type):
            with self.changes.cutter.changing():
                results += [self._placed(each) for each in alike]
        return results

    def _take_back(self, before: set[str]) -> None:
        """Drop what the catalog has besides these, the last first: it may read what came before.

        What something reads that was replaced has to stay.
        """
        entries = self.changes.definitions.catalog.all()
        added = [entry for entry in entries if entry.name.lower() not in before]
        with self.changes.cutter.changing():
            for entry in reversed(added):
                with suppress(InUseError):
                    self.changes.carry_out(_drop_of(entry))

    def _placed(self, statement: Statement) -> Result:
        """Carry out a statement; what is wrong is told where that stands, or at its beginning."""
        try:
            return self.carry_out(statement)
        except PenstockError as error:
            error.place = error.place or _place_of(error, statement)
            raise


def _only_add(statements: Sequence[Statement]) -> bool:
    """Say whether all changes are queries that come beside what is there."""
    changes = [each for each in statements if isinstance(each, Change)]
    return all(isinstance(each, CreateQuery) and not each.or_replace for each in changes)


def _drop_of(entry: CatalogEntry) -> Drop:
    apart = entry.kind in ("TYPE", "FUNCTION")
    name = entry.name.removeprefix(catalog_name(entry.kind, "")) if apart else entry.name
    return Drop(entry.text, Place(1, 1), entry.kind, name, if_exists=True)


def _place_of(error: PenstockError, statement: Statement) -> Place:
    """Return where a statement has what is wrong with it, or where it begins."""
    text, begin, found = statement.text, statement.place, None
    if isinstance(error, NotRepeatableError) and error.present:
        found = place_of_present(text, begin)
    elif isinstance(error, NotRepeatableError) and error.call:
        found = place_of_call(text, begin, error.call)
    return found or begin
