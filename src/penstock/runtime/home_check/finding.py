"""What an examination finds, and moving what is damaged out of the way."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from penstock.engine.sinks.whole_file import sync_directory
from penstock.runtime.durable.home import SUMS
from penstock.runtime.durable.journal_sqlite import SqliteJournal

ASIDE = "set_aside"


@dataclass(frozen=True, slots=True)
class Finding:
    """What was looked at, and what is wrong with it: nothing where it is whole.

    `remedy` says what a repair would do, and `mend` does it.
    """

    what: str
    wrong: str = ""
    remedy: str = ""
    mend: Callable[[], object] | None = None


def set_aside(home: Path, paths: Iterable[Path]) -> None:
    """Move files and directories of a home below its `set_aside`, over nothing that is there."""
    taken = [int(each.name) for each in (home / ASIDE).glob("[0-9]*") if each.name.isdigit()]
    aside = home / ASIDE / str(max(taken, default=0) + 1)
    for path in paths:
        if path.exists():  # else something else took it along
            target = aside / path.relative_to(home)
            target.parent.mkdir(parents=True, exist_ok=True)
            path.rename(target)
            sync_directory(target.parent)
            sync_directory(path.parent)


def beginning_anew(home: Path, what: str, wrong: str) -> Finding:
    """Return the finding of a home that has lost how far everything had come."""
    return Finding(
        what,
        wrong,
        "set journal, checkpoints, firings and archives aside: definitions stay, and everything "
        "starts from the beginning of what its sources still have",
        lambda: _begin_anew(home),
    )


def _begin_anew(home: Path) -> None:
    files = [path for name in ("journal.db", "firings.db", SUMS) for path in home.glob(f"{name}*")]
    set_aside(home, [*files, *(home / "state").glob("*"), *(home / "archive").glob("*")])
    SqliteJournal(home / "journal.db").close()
