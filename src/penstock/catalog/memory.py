"""A catalog in memory: the twin that tests and embedded runs use."""

import threading
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace as changed
from typing import Any

from penstock.catalog.catalog import CatalogEntry, Kind
from penstock.catalog.names import check_free, folded, unknown
from penstock.model.definitions import QueryState


class MemoryCatalog:
    """Entries that last as long as this object."""

    def __init__(self) -> None:
        self._entries: dict[str, CatalogEntry] = {}
        self._last = 0
        self._lock = threading.Lock()

    def put(self, kind: Kind, name: str, text: str, *, replace: bool = False) -> CatalogEntry:
        with self._lock:
            check_free(kind, name, self._entries.get(folded(name)), replace=replace)
            self._last += 1
            entry = CatalogEntry(kind, name, text, self._last)
            self._entries[folded(name)] = entry
            return entry

    def amend(self, name: str, text: str) -> None:
        self._change(name, text=text)

    def get(self, name: str) -> CatalogEntry | None:
        with self._lock:
            return self._entries.get(folded(name))

    def remove(self, name: str) -> None:
        with self._lock:
            if self._entries.pop(folded(name), None) is None:
                raise unknown(name)

    def all(self) -> list[CatalogEntry]:
        with self._lock:
            return sorted(self._entries.values(), key=lambda entry: entry.incarnation)

    def set_state(self, name: str, state: QueryState, cause: str = "") -> None:
        self._change(name, state=state, cause=cause)

    def together(self) -> AbstractContextManager[None]:
        return nullcontext()

    def close(self) -> None:
        """Nothing is held."""

    def _change(self, name: str, **parts: Any) -> None:
        with self._lock:
            entry = self._entries.get(folded(name))
            if entry is None:
                raise unknown(name)
            self._entries[folded(name)] = changed(entry, **parts)
