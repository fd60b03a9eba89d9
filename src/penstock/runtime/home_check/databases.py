"""The databases of a home, looked at in copies: even a look would change a file that is open."""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from penstock.catalog import CatalogEntry, SqliteCatalog
from penstock.errors import PenstockError
from penstock.runtime.durable.home import SUMS, changed_since_closed
from penstock.runtime.durable.journal_sqlite import SqliteJournal
from penstock.runtime.durable.manifest import Checkpoint
from penstock.runtime.home_check.finding import Finding, beginning_anew, set_aside
from penstock.runtime.topology.restoration import checked

EMPTY_HOME = "set all other state aside: the home begins empty"
KEPT = ("format", "lock", "commands", "set_aside")


@dataclass(frozen=True, slots=True)
class Copies:
    """A home's databases, copied with what is only in their logs."""

    home: Path
    scratch: Path

    def path(self, name: str) -> Path:
        """Return the copy of a database, made where it is missing."""
        target = self.scratch / name.replace("/", "-")
        if not target.exists():
            shutil.copyfile(self.home / name, target)
            with suppress(FileNotFoundError):
                shutil.copyfile(self.home / f"{name}-wal", target.with_name(f"{target.name}-wal"))
        return target

    def has(self, name: str) -> bool:
        """Say whether the home has the database."""
        path = self.home / name
        return path.is_file() and path.stat().st_size > 0


def database_findings(copies: Copies) -> list[Finding]:
    """Return what is found of all databases; those that are not there may not be needed."""
    home = copies.home
    found = [_catalog(copies), _journal(copies)]
    remedies = {"firings.db": "set it aside: what rules had still to do is given up"}
    remedies["pushes.db"] = "set it aside: pushes that are repeated are taken for new ones"
    remedies["results/shelf.db"] = "set it aside: results of the past are given up"
    for name, remedy in remedies.items():
        if copies.has(name):
            wrong = _damage(copies.path(name))
            files = [*(home / name).parent.glob(f"{Path(name).name}*"), home / SUMS]
            mend = partial(set_aside, home, files)
            found.append(Finding(name, wrong, remedy, mend) if wrong else Finding(name))
    for name in changed_since_closed(home):
        wrong = "it is not the file that was here when the home was closed"
        aside = partial(set_aside, home, [home / SUMS])
        found.append(Finding(name, wrong, "take it as it is", aside))
    return found


def entries(copies: Copies) -> list[CatalogEntry]:
    """Return what the catalog defines, nothing where it cannot be read."""
    if not copies.has("catalog.db"):
        return []
    try:
        with closing(SqliteCatalog(copies.path("catalog.db"))) as catalog:
            return catalog.all()
    except PenstockError:
        return []


def journal_of(copies: Copies) -> SqliteJournal | None:
    """Return the journal, or None where it cannot be read."""
    if not copies.has("journal.db"):
        return None
    try:
        return SqliteJournal(copies.path("journal.db"))
    except PenstockError:
        return None


def checkpoint_findings(home: Path, journal: SqliteJournal) -> list[Finding]:
    """Return what is found of the checkpoints: the last, and the one to go back to."""
    looked = [(n, *checked(journal, n, home / "state")) for n in journal.checkpoints()]
    whole = [number for number, found, damage in looked if found is not None and not damage]
    if looked and not whole:
        wrong = "none is whole: " + ", ".join(each for _, _, damage in looked for each in damage)
        return [beginning_anew(home, "checkpoints", wrong)]
    return [
        Finding(f"checkpoint {number}")
        if number in whole
        else _going_back(home, journal, number, damage)
        for number, _, damage in looked
    ]


def last_whole(home: Path, journal: SqliteJournal) -> Checkpoint | None:
    """Return the checkpoint that recovery would start from."""
    for number in journal.checkpoints():
        found, damage = checked(journal, number, home / "state")
        if found is not None and not damage:
            return found
    return None


def record_findings(copies: Copies) -> Iterator[Finding]:
    """Return what is found of the trains and runs that the journal has."""
    with closing(sqlite3.connect(copies.path("journal.db"))) as file:
        logs = {
            log: [name for (name,) in file.execute(f"SELECT DISTINCT name FROM {log}")]
            for log in ("trains", "runs")
        }
    with closing(SqliteJournal(copies.path("journal.db"))) as journal:
        try:
            for name in logs["trains"]:
                journal.trains_after(name, 0)
            for name in logs["runs"]:
                journal.runs_after(name, 0)
        except (PenstockError, LookupError, TypeError) as error:
            yield beginning_anew(
                copies.home, "records of the journal", str(error).partition("\n")[0]
            )
        else:
            yield Finding("records of the journal")


def _catalog(copies: Copies) -> Finding:
    home = copies.home
    if not copies.has("catalog.db"):
        wrong = "it is missing, and other state is there" if copies.has("journal.db") else ""
    else:
        wrong = _damage(copies.path("catalog.db"))
    rest = [path for path in home.iterdir() if path.name not in KEPT]
    if not wrong:
        return Finding("catalog.db")
    return Finding("catalog.db", wrong, EMPTY_HOME, partial(set_aside, home, rest))


def _journal(copies: Copies) -> Finding:
    if copies.has("journal.db"):
        wrong = _damage(copies.path("journal.db"))
    else:
        wrong = "it is missing, and there are definitions" if entries(copies) else ""
    return beginning_anew(copies.home, "journal.db", wrong) if wrong else Finding("journal.db")


def _damage(path: Path) -> str:
    try:
        with closing(sqlite3.connect(path)) as file:
            told = str(file.execute("PRAGMA quick_check(1)").fetchone()[0])
    except sqlite3.Error as error:
        return f"it is damaged: {error}"
    return "" if told == "ok" else f"it is damaged: {told}"


def _going_back(home: Path, journal: SqliteJournal, number: int, damage: list[str]) -> Finding:
    is_last = number == journal.checkpoints()[0]
    remedy = "go back to the checkpoint before it: what came after is done again"

    def mend() -> None:
        real = SqliteJournal(home / "journal.db")
        real.forget_checkpoint(number)
        real.close()
        set_aside(home, [home / SUMS, *(Path(path) for path in damage if Path(path).is_file())])

    wrong = "it is damaged: " + ", ".join(damage)
    told = remedy if is_last else "do without it: nothing else needs it"
    return Finding(f"checkpoint {number}", wrong, told, mend)
