"""What clients find: streams, tables, queries, events and views, with their columns."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from penstock.server.pg.values.types import Column

Kind = Literal["stream", "table", "query", "event", "view"]


@dataclass(frozen=True, slots=True)
class Relation:
    """Something that has rows. `definition` is the SELECT of a query, or empty."""

    schema: Literal["public", "system"]
    name: str
    kind: Kind
    columns: tuple[Column, ...]
    definition: str = ""

    @property
    def letter(self) -> str:
        """Return PostgreSQL's letter: what is written to is a table, what is made is a view."""
        return "r" if self.kind in ("stream", "table") else "v"


@dataclass(frozen=True, slots=True)
class SessionFacts:
    """What functions of the session answer; `parameters` are its settings by name."""

    user: str
    database: str
    process: int
    version: str
    parameters: tuple[tuple[str, str], ...] = ()


FIRST_OID = 0x10000  # below are PostgreSQL's own


def numbered(relations: tuple[Relation, ...]) -> Iterator[tuple[int, Relation]]:
    """Yield relations with numbers that depend on their names: the others do not matter mostly."""
    taken: set[int] = set()
    for relation in sorted(relations, key=lambda each: (each.schema, each.name.lower())):
        number = FIRST_OID + _hashed(f"{relation.schema}.{relation.name.lower()}")
        while number in taken:
            number += 1
        taken.add(number)
        yield number, relation


def _hashed(text: str) -> int:
    """Return a hash of 30 bits that is the same in every process (FNV-1a)."""
    value = 0x811C9DC5
    for byte in text.encode():
        value = (value ^ byte) * 0x01000193 & 0xFFFFFFFF
    return value & 0x3FFFFFFF
