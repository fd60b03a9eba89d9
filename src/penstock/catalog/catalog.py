"""What a catalog must do: remember what streams, tables, queries and events there are, as SQL."""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Literal, Protocol

from penstock.model.definitions import QueryState

Kind = Literal[
    "STREAM", "TABLE", "QUERY", "EVENT", "RULE", "TYPE", "FUNCTION", "BASE", "PERSPECTIVE"
]


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """One stream, table, query or event: the statement that made it, and how a query fares.

    `incarnation` says which of all that ever bore the name this is.
    """

    kind: Kind
    name: str
    text: str
    incarnation: int
    state: QueryState | None = None
    cause: str = ""


class Catalog(Protocol):
    """Entries under names that are unique across kinds, whatever their case.

    Law: incarnations grow with every put, and none is ever given twice, also after a restart.
    """

    def put(self, kind: Kind, name: str, text: str, *, replace: bool = False) -> CatalogEntry:
        """Add an entry, or put a new one in the old one's place.

        Raise NameTakenError where the name is taken, except by the same kind with `replace`.
        """
        ...

    def amend(self, name: str, text: str) -> None:
        """Give an entry another text; its incarnation, place and state stay.

        Raise UnknownNameError where there is none.
        """
        ...

    def get(self, name: str) -> CatalogEntry | None:
        """Return the entry of that name."""
        ...

    def remove(self, name: str) -> None:
        """Forget an entry; raise UnknownNameError where there is none."""
        ...

    def all(self) -> list[CatalogEntry]:
        """Return every entry, by incarnation: what a query reads comes before it."""
        ...

    def set_state(self, name: str, state: QueryState, cause: str = "") -> None:
        """Remember how a query fares; raise UnknownNameError where there is none."""
        ...

    def together(self) -> AbstractContextManager[None]:
        """Make all that is done inside one step: a death on the way leaves none of it."""
        ...

    def close(self) -> None:
        """Close the catalog and release what it holds."""
        ...
