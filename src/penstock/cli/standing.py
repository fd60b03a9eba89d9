"""Making a script stand: all of it, or nothing that it adds."""

from penstock.client import Connection
from penstock.errors import BadOptionError, PenstockError
from penstock.model.definitions import QueryState
from penstock.model.schema import quoted
from penstock.runtime.execute import KINDS, Result
from penstock.runtime.feed import Feed
from penstock.runtime.system import System


def stand(connection: Connection, text: str, *, must_end: bool) -> list[Result]:
    """Carry out a script while nothing flows, and return what its statements gave.

    Where it fails, or `must_end` and a source that is read never ends, what it added is dropped
    before anything has flowed, so that the corrected script meets the home as it was.
    """
    system = connection.system
    before = set(system.directory.known)
    with system.supervisor.at_rest():
        try:
            results = connection.script(text)
            if must_end:
                refuse_endless(system)
        except PenstockError:
            _drop(connection, [name for name in system.directory.known if name not in before])
            raise
    return results


def refuse_endless(system: System) -> None:
    """Raise where a running query, or an archive, reads a source that does not end by itself."""
    for feed in system.plant.feeds.values():
        ends = feed.interface.bounded or feed.interface.ended
        if _is_read(system, feed) and not (ends or system.plant.waits_for_rules(feed)):
            source = feed.definition.source.name
            raise BadOptionError(
                f"stream {feed.definition.name} never ends, so --until-idle would never end",
                hint=HINTS.get(source, "give a time instead: --for 30s"),
            )


HINTS = {
    "files": "bounded => true ends it with the files that are there; or give a time: --for 30s",
    "generator": "rows => 1000 ends it after that many; or give a time: --for 30s",
    "push": "rows are pushed from Python, not from the command line: see penstock.connect",
}


def _is_read(system: System, feed: Feed) -> bool:
    buffer = system.plant.buffers.get(feed.key)
    running = any(q.state is QueryState.RUNNING for q in system.plant.queries.values())
    running = running or feed.key in system.plant.archives
    return running and buffer is not None and bool(buffer.readers())


def _drop(connection: Connection, names: list[str]) -> None:
    """Drop what was just made, the last first: it may read what was made before it."""
    for name in reversed(names):
        known = connection.system.directory.get(name)
        if known is not None:
            kind = KINDS[type(known)]
            connection.sql(f"DROP {kind} {quoted(known.definition.name)}")
