"""Death inside one process: a system ends at a chosen point and does nothing to the disk after it.

A *point* is the moment before or after something is done to the disk: a statement of the journal,
a change of the catalog, a file opened to write, renamed, linked or removed. The kernel's view of a
killed process is a prefix of these; whatever the dying system would still do is refused, in each of
its threads. What was given to SQLite or to the kernel before the point stays, as after kill -9.
"""

import os
import random
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.catalog import SqliteCatalog
from penstock.client import Connection
from penstock.database import Database
from penstock.runtime.loop.supervisor import Settings
from penstock.runtime.work.run_limits import RUN_LIMITS, RunLimits
from tests.e2e.support import finish, leave_alone, until

ANY = "any"
Lines = dict[str, Counter[str]]
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT


class Killed(BaseException):
    """The process is gone: nobody may take it for an error and go on."""


class Reaper:
    """Counts points by name, and all of them as `any`, and kills at the one it is told."""

    def __init__(self, root: Path, limits: RunLimits = RUN_LIMITS) -> None:
        """`limits` are for those who are to die: the smaller the runs, the more to die in."""
        self.root = root
        self.settings = Settings(checkpoint_seconds=0.1, limits=limits)
        self.seen: Counter[str] = Counter()
        self.dead = False
        self.target: tuple[str, int] | None = None
        self._lock = threading.Lock()

    def at(self, point: str) -> None:
        """Pass a point, or die there."""
        with self._lock:
            self.seen.update((point, ANY))
            if self.target in ((point, self.seen[point]), (ANY, self.seen[ANY])):
                self.dead = True
            if self.dead:
                raise Killed(point)

    def live_until(self, point: str | None, count: int = 1) -> None:
        """Begin a new life that ends at the point, when it is passed for the n-th time."""
        with self._lock:
            self.seen.clear()
            self.dead, self.target = False, (point, count) if point else None

    def spare(self) -> bool:
        """Let whoever has lived to here live on; False where it is too late."""
        with self._lock:
            self.target = None
            return not self.dead


ACTIVE: list[Reaper] = []


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if ACTIVE and event in _FILE_EVENTS:
        told = _FILE_EVENTS[event](arguments)
        reaper = ACTIVE[-1]
        if told is not None and (place := _below(reaper.root, told)):
            reaper.at(f"{event.removeprefix('os.')} {place} before")


def _opened(arguments: tuple[Any, ...]) -> Any:
    path, _, flags = arguments
    return path if isinstance(flags, int) and flags & WRITES else None


_FILE_EVENTS: dict[str, Callable[[tuple[Any, ...]], Any]] = {
    "open": _opened,
    "os.rename": lambda arguments: arguments[1],
    "os.remove": lambda arguments: arguments[0],
    "os.link": lambda arguments: arguments[1],
    "os.truncate": lambda arguments: arguments[0],
}


def _below(root: Path, path: Any) -> str:
    """Return the room of a path below the root: out, state, results …; or nothing."""
    if not isinstance(path, str | bytes | os.PathLike):
        return ""
    place = Path(os.fsdecode(path))
    if not place.is_relative_to(root):
        return ""
    first, *rest = place.relative_to(root).parts
    return rest[0] if first.startswith("home") and rest else first.partition("-")[0]


def _watched(name: str, does: Callable[..., Any]) -> Callable[..., Any]:
    def watching(self: Any, *arguments: Any, **options: Any) -> Any:
        if not ACTIVE:
            return does(self, *arguments, **options)
        label = _statement(name, arguments)
        ACTIVE[-1].at(f"{label} before")
        done = does(self, *arguments, **options)
        ACTIVE[-1].at(f"{label} after")
        return done

    return watching


def _watched_file(does: Callable[..., Any]) -> Callable[..., Any]:
    watched = {name: _watched(name, does) for name in ("journal", "firings")}

    def watching(self: Database, *arguments: Any) -> Any:
        return watched.get(self.path.stem, does)(self, *arguments)

    return watching


def _statement(name: str, arguments: tuple[Any, ...]) -> str:
    """Return a statement's first words; runs of units and of queries are told apart."""
    if name not in ("journal", "firings"):
        return f"catalog {name}"
    words = str(arguments[0]).split()
    label = " ".join(words[:3] if words[0] in ("INSERT", "DELETE") else words[:1])
    owner = arguments[1].partition(":")[0] if "runs" in label and _is_text(arguments[1:]) else ""
    return f"{name} {label} {owner}".rstrip()


def _is_text(values: tuple[Any, ...]) -> bool:
    return bool(values) and isinstance(values[0], str)


@contextmanager
def reaping(
    root: Path, monkeypatch: pytest.MonkeyPatch, limits: RunLimits = RUN_LIMITS
) -> Iterator[Reaper]:
    """Watch every system at home below `root`."""
    if not _hooked:
        sys.addaudithook(_audit)
        _hooked.append(True)
    for method in ("execute", "execute_all"):
        monkeypatch.setattr(Database, method, _watched_file(getattr(Database, method)))
    for method in ("put", "remove", "set_state"):
        changed = _watched(method, getattr(SqliteCatalog, method))
        monkeypatch.setattr(SqliteCatalog, method, changed)
    told = threading.excepthook
    monkeypatch.setattr(threading, "excepthook", lambda args: _unless_killed(args, told))
    reaper = Reaper(root, limits)
    ACTIVE.append(reaper)
    try:
        yield reaper
    finally:
        ACTIVE.remove(reaper)


_hooked: list[bool] = []  # an audit hook cannot be taken back; without a reaper it does nothing


def _unless_killed(args: Any, told: Callable[[Any], object]) -> None:
    if not issubclass(args.exc_type, Killed):
        told(args)


def bury(ps: Connection, reaper: Reaper) -> None:
    """Wait for the last thread of a killed system, and free what the kernel would have freed."""
    reaper.dead = True
    system, supervisor = ps.system, ps.system.supervisor
    system.quiescence.is_stopping = (
        True  # an idle one dies of the checkpoint that it now tries to write
    )
    system.pool.wake()
    supervisor._thread.join()
    system.pool.dismiss()
    system.pool._pools["sink"].shutdown()  # else it might go on in the next life
    system.tuner.stop()
    for source_reader in system.topology.source_readers.values():
        source_reader.interface.close()
    system.journal.close()
    system.pending_actions.close()
    system.catalog.close()
    system.home.close()


def live(ps: Connection, reaper: Reaper) -> bool:
    """Let a system work until all is done (True) or it dies (False, and it is buried)."""
    until(ps, lambda: reaper.dead or (ps.wait(0.05) and reaper.spare()))
    if not reaper.dead:
        return True
    bury(ps, reaper)
    return False


@contextmanager
def before_it_flows(reaper: Reaper, home: Path, script: str, **given: Any) -> Iterator[Connection]:
    """Give a home in which nothing flows yet, with its script; at the end of the block it begins.

    So whoever arms the reaper inside is never too late.
    """
    reaper.live_until(None)
    is_new = not home.exists()
    ps = penstock.connect(home, settings=reaper.settings, begin=False, **given)
    if is_new:  # later, recorded runs have to be done again before a script could be
        ps.script(script)
    yield ps
    ps.begin()


def calm_and_disturbed(
    reaper: Reaper, spark: SparkSession, root: Path, script: str, chance: random.Random, deaths: int
) -> tuple[Lines, Lines]:
    """Run a script in peace and with deaths at random; return what each query wrote, both times.

    `{out}` in the script is where queries write, each into files under its name. How many rows a
    delivery has is a matter of timing. Gates stay open, however busy the machine is.
    """
    reaper.live_until(None)
    settings = reaper.settings
    with penstock.connect(root / "calm", spark=spark, settings=settings, begin=False) as ps:
        leave_alone(ps)
        ps.script(script.format(out=root / "expected"))
        ps.begin()
        finish(ps)
    points = [chance.randrange(20, 160) for _ in range(deaths)]
    over, lives = False, 0
    while not over:
        written = script.format(out=root / "out")
        with before_it_flows(reaper, root / "home", written, spark=spark) as ps:
            leave_alone(ps)
            if lives < len(points):
                reaper.live_until(ANY, points[lives])
        lives += 1
        over = live(ps, reaper)
    reaper.live_until(None)
    ps.close()
    assert lives > deaths // 2
    return _written(root / "expected"), _written(root / "out")


def _written(out: Path) -> Lines:
    return {
        query.name: Counter(
            line for part in query.glob("part-*") for line in part.read_text().splitlines()
        )
        for query in out.iterdir()
    }
