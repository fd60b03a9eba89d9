"""Making a script stand on what the home remembers: all of it, or nothing that it adds."""

from functools import partial

from penstock.cli.stop_signals import StopSignals
from penstock.client import Connection
from penstock.errors import BadOptionError
from penstock.model.definitions import QueryState
from penstock.runtime.sources.source_reader import SourceReader
from penstock.runtime.statements.result import Result
from penstock.runtime.statements.statements import approved
from penstock.runtime.topology.topology import Topology

LOOK_SECONDS = 0.1  # how soon a signal is noticed


def go_on(connection: Connection, signals: StopSignals) -> bool:
    """Start what the home remembers, and repeat the runs that a crash interrupted.

    False where a signal comes first: replays take as long as what they repeat.
    """
    system = connection.system
    system.start()
    while signals.received is None:
        if system.quiescence.catch_up(LOOK_SECONDS):
            system.complete()
            return True
    return False


def stand(connection: Connection, text: str, *, must_end: bool) -> list[Result]:
    """Carry out a script, and return what its statements gave.

    Where it fails, or `must_end` and a source that is read never ends, nothing stands that it adds.
    """
    approve = partial(refuse_endless, connection.system.topology) if must_end else approved
    return connection.script(text, approve=approve)


def refuse_endless(topology: Topology) -> None:
    """Raise where a running query, or an archive, reads a source that does not end by itself."""
    for source_reader in topology.source_readers.values():
        ends = source_reader.interface.bounded or source_reader.interface.ended
        if _is_read(topology, source_reader) and not (
            ends or topology.waits_for_rules(source_reader)
        ):
            source = source_reader.definition.source.name
            raise BadOptionError(
                f"stream {source_reader.definition.name} never ends, "
                "so --until-idle would never end",
                hint=HINTS.get(source, "give a time instead: --for 30s"),
            )


HINTS = {
    "files": "bounded => true ends it with the files that are there; or give a time: --for 30s",
    "generator": "rows => 1000 ends it after that many; or give a time: --for 30s",
    "push": "rows are pushed from Python, not from the command line: see penstock.connect",
}


def _is_read(topology: Topology, source_reader: SourceReader) -> bool:
    buffer = topology.buffers.get(source_reader.key)
    running = any(q.state is QueryState.RUNNING for q in topology.queries.values())
    running = running or source_reader.key in topology.archives
    return running and buffer is not None and bool(buffer.readers())
