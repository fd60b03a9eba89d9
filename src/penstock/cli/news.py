"""What went wrong since it was last asked: told once, at once, on standard error."""

from collections.abc import Iterator

from penstock.catalog import Catalog
from penstock.client import Connection
from penstock.model.definitions import QueryState
from penstock.runtime.names.directory import Directory
from penstock.runtime.topology.topology import Topology
from penstock.runtime.work.live_query import LiveQuery

Trouble = tuple[str, str]  # what is wrong, and its cause


class News:
    """Watches queries and streams."""

    def __init__(self, topology: Topology, catalog: Catalog, directory: Directory) -> None:
        self._topology = topology
        self._told: set[Trouble] = set()
        # What could not be brought back is in the catalog alone; it does not change any more.
        self._missing = {
            entry.name: entry.cause
            for entry in catalog.all()
            if entry.state is QueryState.FAILED and directory.get(entry.name) is None
        }

    def fresh(self) -> list[str]:
        """Return what is new, each as a few lines."""
        found = [*self._lost(), *self._held(), *self._unread()]
        new = [trouble for trouble in found if trouble not in self._told]
        self._told |= set(new)
        return [f"{what}\n{_indented(cause)}" for what, cause in new]

    def failed(self) -> list[str]:
        """Return the names of what has failed for good: queries, and what did not come back."""
        held = [query.name for query in self._queries() if query.state is QueryState.FAILED]
        return sorted({*self._missing, *held})

    def runs(self) -> bool:
        """Say whether any query goes on."""
        held = self._topology.suspended or self._topology.waiting  # they come when there is room
        return bool(held) or any(q.state is QueryState.RUNNING for q in self._queries())

    def _queries(self) -> list[LiveQuery]:
        return list(self._topology.queries.values())  # a copy: another thread changes it

    def _lost(self) -> Iterator[Trouble]:
        for name, cause in self._missing.items():
            yield f"{name} could not be brought back:", cause

    def _held(self) -> Iterator[Trouble]:
        for query in self._queries():
            if query.state is QueryState.FAILED:
                yield f"query {query.name} failed and is held:", query.cause
        for query in list(self._topology.suspended.values()):
            yield f"query {query.name} is suspended:", query.cause

    def _unread(self) -> Iterator[Trouble]:
        for source_reader in list(self._topology.source_readers.values()):
            if source_reader.cause:
                yield (
                    f"stream {source_reader.definition.name} cannot be read now:",
                    source_reader.cause,
                )


def news_of(connection: Connection) -> News:
    """Return what watches the queries and streams of a connection."""
    system = connection.system
    return News(system.topology, system.catalog, system.directory)


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())
