"""Types of streams: the columns of an item, what orders items, and what a type stands under."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

from penstock.errors import TypeMismatchError, UnknownColumnError
from penstock.functions.data.items import Items
from penstock.functions.data.scalars import arrow_type, is_order
from penstock.functions.data.vectors import ELEMENT, Kind, kind_of
from penstock.model.schema import Column, Schema


@dataclass(frozen=True)
class StreamType:
    """What the items of a stream are: columns of its own after those of the type it is under.

    `ordering` names the column that items are ordered by (GSDM-11); without one they are in the
    order in which they come. Call the type to make items, `radio(ts=…, x=…)`, and an attribute of
    it to read them, `radio.x(items)`.
    """

    name: str
    own: tuple[Column, ...]
    ordering: str | None = None
    under: "StreamType | None" = None

    def __post_init__(self) -> None:
        """Refuse a name that is there twice, and an order by what has none."""
        names = [column.name.lower() for column in self.columns]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise TypeMismatchError(
                f"type {self.name} has two columns {twice}",
                hint="a type has the columns of the type it is under, too",
            )
        if self.ordering is None and self.under is not None:
            object.__setattr__(self, "ordering", self.under.ordering)
        if self.ordering is not None and not is_order(self.field(self.ordering).type):
            raise TypeMismatchError(
                f"items cannot be ordered by {self.ordering}: {self[self.ordering].type}",
                hint="order them by a TIMESTAMP, a DATE or a whole number",
            )

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """Return all columns, those of the supertype first."""
        return (*(self.under.columns if self.under else ()), *self.own)

    @cached_property
    def schema(self) -> Schema:
        """Return the columns as a schema."""
        return Schema(self.columns)

    @cached_property
    def vectors(self) -> dict[str, Kind]:
        """Return the vector columns and what they are made of."""
        kinds = ((column.name, kind_of(column.type)) for column in self.columns)
        return {name: kind for name, kind in kinds if kind is not None}

    def __getitem__(self, name: str) -> Column:
        """Return the column of that name, whatever its case."""
        found = self.schema.find(name)
        if found is None:
            raise UnknownColumnError(
                f"type {self.name} has no column {name}",
                hint=f"it has {', '.join(self.schema.names)}",
            )
        return found

    def __call__(self, **columns: Any) -> Items:
        """Return items with these columns: the constructor that GSDM-09 generates."""
        return Items.of(self, columns)

    def __getattr__(self, name: str) -> Callable[[Items], Any]:
        """Return the function that reads a column of items: GSDM-09's attribute functions."""
        if name.startswith("_"):
            raise AttributeError(name)
        column = self.schema.find(name)
        if column is None:
            raise AttributeError(f"type {self.name} has no column {name}")
        return lambda items: items[column.name]

    def is_a(self, other: "StreamType") -> bool:
        """Whether what works on the other type works on this one."""
        return any(each == other for each in self._line())

    def arrow(self) -> pa.Schema:
        """Return the columns as Arrow has them; vectors say what they are made of."""
        return pa.schema([arrow_field(column) for column in self.columns])

    def field(self, name: str) -> pa.Field:
        """Return one column as Arrow has it."""
        return arrow_field(self[name])

    def with_columns(self, name: str, columns: tuple[Column, ...]) -> "StreamType":
        """Return a type of its own with these columns and the same order, if it is still there."""
        kept = self.ordering and Schema(columns).find(self.ordering)
        return StreamType(name, columns, kept.name if kept else None)

    def with_vectors(self, kinds: dict[str, Kind]) -> "StreamType":
        """Return the type with other kinds of vectors; the same type if none is another."""
        if all(self.vectors[name] is kind for name, kind in kinds.items()):
            return self
        columns = tuple(
            Column(each.name, kinds[each.name].value) if each.name in kinds else each
            for each in self.columns
        )
        return StreamType(self.name, columns, self.ordering)

    def _line(self) -> "Iterator[StreamType]":
        yield self
        if self.under is not None:
            yield from self.under._line()


def arrow_field(column: Column) -> pa.Field:
    """Return a column as Arrow's field."""
    kind = kind_of(column.type)
    if kind is not None:
        return pa.field(column.name, pa.binary(), metadata={ELEMENT: kind.dtype.name.encode()})
    return pa.field(column.name, arrow_type(column.type))
