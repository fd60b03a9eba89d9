"""The home directory: where one running Penstock keeps what has to outlive it.

home/
 ├─ format      the version of this layout
 ├─ lock        locked while a process is at home; holds its pid
 ├─ catalog.db  journal.db
 ├─ journal     where catalog and journal are, if not here
 ├─ sums.json   checksums of the databases, while nobody is at home
 ├─ firings.db  what rules have still to do, and could not do
 ├─ pushes.db   keys of pushes, so that a client may repeat one
 ├─ tokens.json  audit.jsonl    who may come in by a server, and who changed what
 ├─ commands  hosts  formats  writable  readable    what the operator allows, one a line
 ├─ identity    a name that no other home has, where sinks need one
 ├─ written     files that statements wrote, one a line: they may be written anew
 ├─ state/      checkpoints
 ├─ streams/  rejects/  archive/    one directory a stream
 ├─ tables/               one directory a table: the version in force
 ├─ results/  late/       one directory a query; results/shelf.db has small results of all
 ├─ set_aside/  what a repair moved out of the way
 └─ spill/      trains over their buffers' bounds; nothing in it survives a restart
"""

import errno
import fcntl
import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Self
from uuid import uuid4

from penstock.engine.allowed import Allowed
from penstock.engine.sinks.whole_file import write_whole
from penstock.errors import DiskFullError, HomeBusyError, HomeError, HomeFormatError
from penstock.runtime.durable.state_files import sum_of

# What a home holds, and how; docs/howto/upgrade.md says what is promised. In 2, states belong to
# plans by their structure, and no more by what EXPLAIN says of them.
FORMAT = 2
WRITERS = {1: "Penstock before 0.1.0", 2: "Penstock 0.1.0"}
OWNER_ONLY = 0o700  # results may be nobody else's business
LONGEST_NAME = 200  # file systems take 255 bytes; leave room for what gets appended
DATABASES = ("catalog.db", "journal.db", "firings.db")
ELSEWHERE = "journal"  # names the place of catalog and journal
SUMS = "sums.json"  # sizes and checksums of the databases, while nobody has them open
DOORS = ("commands", "hosts", "formats", "writable", "readable")  # in the order of Allowed
ROOMS = ("state", "streams", "rejects", "archive", "tables", "results", "late", "spill")


class Home:
    """A locked home directory; made where it is missing, free again after `close`.

    The kernel frees the lock when the process dies, however it dies. A child that was forked
    without exec shares the lock for as long as it lives.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.expanduser().absolute()
        with _explained(self.path):
            self._make()
            # Before anything is made: what was there once and is not now was lost.
            self._found = frozenset(n for n in DATABASES if _has_bytes(self.path / n))
            if self.journal_elsewhere:
                self._found |= {self.catalog.name, self.journal.name}
            self._lock = locked(self.path)
        try:
            with _explained(self.path):
                self._settle()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Free the lock; the file stays, since removing it would race with the next owner."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    @property
    def catalog(self) -> Path:
        """Return the catalog's file, which may not exist yet."""
        return self.path / "catalog.db"

    @property
    def journal(self) -> Path:
        """Return the journal's file, which may not exist yet."""
        return self.path / "journal.db"

    @property
    def journal_elsewhere(self) -> str:
        """Return where catalog and journal are, or nothing where they are files of the home."""
        try:
            return (self.path / ELSEWHERE).read_text().strip()
        except (OSError, UnicodeDecodeError):
            return ""

    def note_journal(self, place: str) -> None:
        """Remember that catalog and journal are elsewhere."""
        if self.journal_elsewhere != place:
            with _explained(self.path):
                write_whole(self.path / ELSEWHERE, f"{place}\n".encode(), sync=True)

    def refuse_other_journal(self, *, elsewhere: bool) -> None:
        """Raise where the journal is elsewhere and is not named, or is here and another is."""
        if (noted := self.journal_elsewhere) and not elsewhere:
            raise HomeError(
                f"the home {self.path} has its catalog and journal in {noted}",
                hint="name it: --journal postgresql://…, or connect(journal=…)",
            )
        if elsewhere and not noted and self.journal.name in self._found:
            raise HomeError(
                f"the home {self.path} has its catalog and journal in files of its own",
                hint="leave --journal out, or name a home that is new",
            )

    @property
    def pending_actions(self) -> Path:
        """Return the file of what rules have to do, which may not exist yet."""
        return self.path / "firings.db"

    @property
    def push_keys(self) -> Path:
        """Return the file of keys of pushes, which may not exist yet."""
        return self.path / "pushes.db"

    def refuse_lost_catalog(self) -> None:
        """Raise where the catalog was lost: the home must not be taken for a new one.

        Both it and the journal were made when the home was; asked before it is made anew.
        """
        if self.journal.name in self._found and self.catalog.name not in self._found:
            raise self._lost(self.catalog, "what was defined here is not known any more")

    def refuse_lost_journal(self, definitions: int) -> None:
        """Raise where the journal was lost, given how many definitions there are."""
        if definitions and self.journal.name not in self._found:
            raise self._lost(self.journal, "how far everything had come is not known any more")

    def lost_pending_actions(self) -> bool:
        """Say whether the file of what rules have to do was there once and is not now."""
        return self.journal.name in self._found and self.pending_actions.name not in self._found

    def _lost(self, path: Path, means: str) -> HomeError:
        return HomeError(
            f"{path} is lost, and other state is there: {means}",
            hint="restore it from a copy, or set the rest aside: penstock repair HOME",
        )

    def seal(self) -> None:
        """Write down the checksums of the databases, which have none of their own; all closed.

        One that somebody else still reads may change when that ends. Without room there are none.
        """
        closed = [n for n in DATABASES if not (self.path / f"{n}-wal").exists()]
        sums = {name: sum_of(self.path / name) for name in closed}
        body = json.dumps({name: found for name, found in sums.items() if found}).encode()
        with suppress(OSError, DiskFullError):
            write_whole(self.path / SUMS, body, sync=True)

    def allowed(self) -> Allowed:
        """Return what the operator's files in the home let statements and rules reach."""
        return Allowed(*map(self._lines, DOORS))

    def identity(self) -> str:
        """Return the home's name for systems outside, made when it is first asked for."""
        path = self.path / "identity"
        with _explained(self.path):
            if not path.exists():
                write_whole(path, f"{uuid4().hex}\n".encode(), sync=True)
            return path.read_text().strip()

    def written(self) -> frozenset[str]:
        """Return the files outside of the home that statements wrote."""
        return self._lines("written")

    def note_written(self, path: Path) -> None:
        """Remember a file outside of the home that a statement is about to write."""
        if str(path) not in self.written():
            with _explained(self.path), (self.path / "written").open("a") as file:
                file.write(f"{path}\n")

    def _lines(self, name: str) -> frozenset[str]:
        try:
            lines = (self.path / name).read_text().splitlines()
        except (OSError, UnicodeDecodeError):
            return frozenset()
        return frozenset(line.strip() for line in lines if line.strip())

    @property
    def state(self) -> Path:
        """Return the directory of the checkpoints."""
        return self.path / "state"

    @property
    def tables(self) -> Path:
        """Return the directory of the tables' versions."""
        return self.path / "tables"

    @property
    def spill(self) -> Path:
        """Return the directory of spilled trains, empty at open."""
        return self.path / "spill"

    def stream(self, name: str) -> Path:
        """Return a stream's own directory, which exists."""
        return self._directory("streams", name)

    def rejects(self, stream: str) -> Path:
        """Return the directory of a stream's tuples that did not fit, which exists."""
        return self._directory("rejects", stream)

    def archive(self, stream: str) -> Path:
        """Return the directory of a stream's archive, which exists."""
        return self._directory("archive", stream)

    def results(self, query: str) -> Path:
        """Return the directory of a query's result log, which exists."""
        return self._directory("results", query)

    @property
    def result_index(self) -> Path:
        """Return the file of all queries' small results, which may not exist yet."""
        return self.path / "results" / "shelf.db"  # no query's directory has a dot in its name

    def late(self, query: str) -> Path:
        """Return the directory of a query's late rows, which exists."""
        return self._directory("late", query)

    def _directory(self, room: str, name: str) -> Path:
        directory = self.path / room / file_name(name)
        with _explained(self.path):
            directory.mkdir(mode=OWNER_ONLY, exist_ok=True)
        return directory

    def _make(self) -> None:
        if self.path.exists() and not self.path.is_dir():
            raise HomeError(
                f"the home {self.path} is a file", hint="name a directory, or a path that is free"
            )
        self.path.mkdir(mode=OWNER_ONLY, parents=True, exist_ok=True)

    def _settle(self) -> None:
        found = _format(self.path)
        if found is None:
            _refuse_strangers(self.path)
            _write_format(self.path)
        elif found != FORMAT:
            writer = WRITERS.get(found, "a newer Penstock")
            raise HomeFormatError(
                f"the home {self.path} has format {found}, and this Penstock reads {FORMAT}",
                hint=f"{writer} wrote it and can read it; or name another home",
            )
        if changed := changed_since_closed(self.path):
            raise HomeError(
                f"{self.path / changed[0]} is not the file that was here when the home was closed",
                hint="restore it from a copy, or look what is whole: penstock check HOME",
            )
        (self.path / SUMS).unlink(missing_ok=True)
        for room in ROOMS:
            (self.path / room).mkdir(mode=OWNER_ONLY, exist_ok=True)
        _empty(self.spill)


def changed_since_closed(home: Path) -> list[str]:
    """Return the databases that are not as they were when the home was closed."""
    try:
        sums = json.loads((home / SUMS).read_bytes())
        known = {name: tuple(found) for name, found in sums.items()}
    except FileNotFoundError:
        return []
    except (OSError, ValueError, AttributeError, TypeError):
        return []  # this file itself: it tells nothing then
    return [name for name in DATABASES if name in known and sum_of(home / name) != known[name]]


def file_name(name: str) -> str:
    """Return a file name for any name: different names differ, on any file system.

    Everything outside a-z, 0-9, `_` and `-` is written as %xx, so that names which differ only
    in case stay apart where files have no case, and no name leads out of its directory.
    """
    if not name:
        return "%"  # no other name gives a lone %
    quoted = re.sub(
        r"[^a-z0-9_-]",
        lambda found: "".join(f"%{byte:02x}" for byte in found[0].encode(errors="surrogatepass")),
        name,
    )
    if len(quoted) <= LONGEST_NAME:
        return quoted
    digest = hashlib.sha256(quoted.encode()).hexdigest()
    return f"{quoted[: LONGEST_NAME - 66]}%-{digest}"  # %- stands in no quoted name


@contextmanager
def _explained(home: Path) -> Iterator[None]:
    """Turn what the file system says into errors a user can act on."""
    try:
        yield
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise DiskFullError(
                f"no room left for the home {home}", hint="free some, or name another home"
            ) from error
        raise HomeError(
            f"the home {home} cannot be used: {error.strerror or error}",
            hint="name a directory that this user may write, on a local file system",
        ) from error


def locked(home: Path) -> int:
    """Lock a home for this process, and return the handle that holds the lock."""
    lock = os.open(home / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        pid = f"{os.getpid()}\n".encode()
        os.pwrite(lock, pid, 0)  # over the last owner's, which takes no room on a full disk
        os.ftruncate(lock, len(pid))
    except BlockingIOError as error:
        owner = os.pread(lock, 32, 0).decode(errors="replace").strip()
        os.close(lock)
        raise HomeBusyError(
            f"the home {home} is in use by process {owner or 'unknown'}",
            hint="end that process, or name another home",
        ) from error
    except BaseException:
        os.close(lock)
        raise
    return lock


def _format(home: Path) -> int | None:
    try:
        text = (home / "format").read_text()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        text = ""
    if not re.fullmatch(r"[0-9]{1,9}\n?", text):
        raise HomeError(
            f"the home {home} has a format file that makes no sense",
            hint="restore the directory, or name another home",
        )
    return int(text)


def _refuse_strangers(home: Path) -> None:
    """Take no directory that has our names for things of its own: spill/ will be emptied."""
    taken = sorted({*ROOMS, *DATABASES} & {entry.name for entry in home.iterdir()})
    if taken:
        raise HomeError(
            f"{home} is no home of Penstock and has a {taken[0]} of its own",
            hint="name a directory of its own for the home",
        )


def _has_bytes(path: Path) -> bool:
    return path.is_file() and path.stat().st_size > 0


def _write_format(home: Path) -> None:
    draft = home / "format.new"
    draft.write_text(f"{FORMAT}\n")
    draft.replace(home / "format")


def _empty(directory: Path) -> None:
    for entry in directory.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()
