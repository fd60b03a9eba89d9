"""A kind of definition: how streams, tables, queries, events and rules come, go and come back."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from penstock.catalog import CatalogEntry
from penstock.plan.operators import Operator
from penstock.runtime.durable.manifest import Manifest
from penstock.runtime.names.directory import KnownQuery
from penstock.runtime.work.live_rule import LiveRule

Enter = Callable[
    [CatalogEntry], str
]  # puts what is in the catalog now into its place; says what was done


@dataclass(frozen=True, slots=True)
class Newcomers:
    """Queries and rules that were defined after the checkpoint; a rule with its event."""

    queries: tuple[KnownQuery, ...] = ()
    rules: tuple[tuple[LiveRule, Operator], ...] = ()

    def __add__(self, other: "Newcomers") -> "Newcomers":
        """Return both."""
        return Newcomers(self.queries + other.queries, self.rules + other.rules)


NOBODY = Newcomers()


class DefinitionKind(Protocol):
    """All of it happens while quiesced."""

    def prepared(self, statement: Any) -> Enter:
        """Raise what is wrong with a definition, and change nothing; return what enters it.

        By then an older definition of the name is gone, and the catalog has the new one.
        """
        ...

    def forget(self, known: Any) -> None:
        """Remove what has no readers any more, with what it keeps."""
        ...

    def bring_back(self, statement: Any, entry: CatalogEntry, manifest: Manifest) -> Newcomers:
        """Define it again as the checkpoint saw it; return it where that does not have it."""
        ...
