"""The whole examination of a home: nothing is changed, and no process may have it open."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from penstock.errors import HomeError
from penstock.runtime.durable.home import ELSEWHERE, locked
from penstock.runtime.home_check.databases import (
    Copies,
    checkpoint_findings,
    database_findings,
    entries,
    journal_of,
    last_whole,
    record_findings,
)
from penstock.runtime.home_check.finding import Finding
from penstock.runtime.home_check.stored import (
    StoredDefinitions,
    definitions,
    file_findings,
    log_findings,
    sink_findings,
)


@contextmanager
def held(path: Path) -> Iterator[Path]:
    """Hold a home that is there, as a running Penstock does."""
    home = path.expanduser().absolute()
    if not (home / "format").is_file():
        raise HomeError(f"{home} is no home of Penstock", hint="name the directory of a home")
    if (home / ELSEWHERE).is_file():
        raise HomeError(
            f"{home} has its catalog and journal in {(home / ELSEWHERE).read_text().strip()}",
            hint="PostgreSQL's own tools look after these; a home of files alone can be checked",
        )
    handle = locked(home)
    try:
        yield home
    finally:
        os.close(handle)


def examine(home: Path) -> list[Finding]:
    """Return what is found, of what everything else depends on first; only inside `held`."""
    with tempfile.TemporaryDirectory(prefix="penstock-check-") as scratch:
        copies = Copies(home, Path(scratch))
        found = database_findings(copies)
        known = definitions(entries(copies))
        found += known.findings
        if not any(each.wrong for each in found[:2]):
            found += _by_the_journal(copies, known)
    return [*found, *file_findings(home)]


def _by_the_journal(copies: Copies, known: StoredDefinitions) -> list[Finding]:
    """Return what is found of all that the journal knows of."""
    journal = journal_of(copies)
    if journal is None:
        return []
    try:
        found = [*checkpoint_findings(copies.home, journal), *record_findings(copies)]
        if any(each.wrong for each in found[-1:]):
            return found  # nothing can be compared with it
        last = last_whole(copies.home, journal)
        found += log_findings(copies.home, known.streams, journal, last)
        found += sink_findings(known.queries, journal, last)
    finally:
        journal.close()
    return found
