"""Items of a stream, many at once: an Arrow table, its type, and the number of each item.

A type has the columns of an item, what orders items, and what it stands under; it makes items, and
items have a type, so both are here.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.errors import TypeMismatchError, UnknownColumnError
from penstock.functions.data.scalars import arrow_type, is_order
from penstock.functions.data.vectors import ELEMENT, Array, Kind, Vectors, kind_of, one_chunk
from penstock.model.own_names import own
from penstock.model.schema import Column, Schema

NUMBER = own("item")  # the column in which an item's number travels from site to site

Numbers = npt.NDArray[np.int64]


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

    def __call__(self, **columns: Any) -> "Items":
        """Return items with these columns: the constructor that GSDM-09 generates."""
        return Items.of(self, columns)

    def __getattr__(self, name: str) -> "Callable[[Items], Any]":
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


@dataclass(frozen=True, eq=False)
class Items:
    """Rows of a table that has the columns of `type`, in order.

    `numbers` tells items of one input apart: item n is the n-th that came in, and whatever is made
    of it keeps the number. Splits are put together by it, and it orders items of equal time.
    """

    type: StreamType
    table: pa.Table
    numbers: Numbers

    @classmethod
    def of(cls, kind: StreamType, columns: Mapping[str, Any]) -> "Items":
        """Return items with these columns, numbered from zero."""
        given = {kind[name].name: value for name, value in columns.items()}
        missing = [each.name for each in kind.columns if each.name not in given]
        if missing:
            raise UnknownColumnError(
                f"items of type {kind.name} need {', '.join(missing)}",
                hint=f"a {kind.name} has {', '.join(kind.schema.names)}",
            )
        return cls.from_table(kind, made_table(kind, given))

    @classmethod
    def from_table(
        cls, kind: StreamType, table: pa.Table, numbers: Numbers | None = None
    ) -> "Items":
        """Return a table's rows as items; their numbers are given, in the table, or from zero."""
        if numbers is None and NUMBER in table.column_names:
            numbers = one_chunk(table[NUMBER]).to_numpy()
        if numbers is None:
            numbers = np.arange(table.num_rows, dtype=np.int64)
        names = [each.name for each in kind.columns]
        if table.column_names == names:
            return cls(kind, table, numbers)
        absent = [name for name in names if name not in table.column_names]
        if absent:
            raise UnknownColumnError(
                f"a table has no column {', '.join(absent)}, which {kind.name} needs",
                hint=f"it has {', '.join(table.column_names)}",
            )
        return cls(kind, table.select(names), numbers)

    @classmethod
    def none(cls, kind: StreamType) -> "Items":
        """Return no items of a type."""
        return cls(kind, kind.arrow().empty_table(), np.empty(0, dtype=np.int64))

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __getitem__(self, name: str) -> Any:
        """Return a column: vectors as an (n, N) view or, of several lengths, a list of views."""
        column = self.type[name].name
        if column in self.type.vectors:
            vectors = self.vectors(column)
            matrix = vectors.matrix
            return vectors.each() if matrix is None else matrix
        return self.table[column].to_numpy()

    def vectors(self, name: str) -> Vectors:
        """Return a column of vectors."""
        column = self.type[name].name
        return Vectors.from_arrow(self.table[column], self.type.vectors[column])

    @cached_property
    def times(self) -> Numbers:
        """Return what orders the items, as whole numbers: microseconds, days, or their numbers."""
        if self.type.ordering is None:
            return self.numbers
        column = one_chunk(self.table[self.type[self.type.ordering].name])
        if pa.types.is_timestamp(column.type):
            column = column.cast(pa.timestamp("us", tz=column.type.tz))
        elif pa.types.is_date32(column.type):
            column = column.cast(pa.int32())
        times: Numbers = pc.fill_null(column.cast(pa.int64()), 0).to_numpy()
        return times

    @property
    def bytes(self) -> int:
        """Return how many bytes the items are made of."""
        return int(self.table.nbytes)

    def with_columns(self, kind: StreamType, columns: Mapping[str, Any]) -> "Items":
        """Return the same items as another type: some columns new, the others as they are."""
        given = {kind[name].name: value for name, value in columns.items()}
        arrays = []
        for column in kind.columns:
            if column.name in given:
                arrays.append(_column(kind, column.name, given[column.name]))
            else:
                arrays.append(self.table[self.type[column.name].name])
        sizes = {len(array) for array in arrays}
        if sizes - {len(self)}:
            raise TypeMismatchError(
                f"{len(self)} items went in, columns of {sorted(sizes)} values came out",
                hint="give one value for each item",
            )
        table = pa.Table.from_arrays(arrays, names=[each.name for each in kind.columns])
        return Items(kind, table, self.numbers)

    def slice(self, start: int, stop: int | None = None) -> "Items":
        """Return the items from `start` up to `stop`, as views."""
        stop = len(self) if stop is None else stop
        return Items(self.type, self.table.slice(start, stop - start), self.numbers[start:stop])

    def take(self, rows: npt.NDArray[Any]) -> "Items":
        """Return the items of these places, or those that a mask lets through."""
        if rows.dtype == np.bool_:
            if rows.all():
                return self
            rows = np.flatnonzero(rows)
        if len(rows) and len(rows) == rows[-1] - rows[0] + 1 and (np.diff(rows) == 1).all():
            return self.slice(int(rows[0]), int(rows[-1]) + 1)
        return Items(self.type, _gathered(self.table, rows), self.numbers[rows])

    def numbered(self, numbers: Numbers) -> "Items":
        """Return the items under other numbers."""
        return Items(self.type, self.table, numbers)

    def packed(self) -> pa.Table:
        """Return the items as a table that carries their numbers, to be sent or kept."""
        return self.table.append_column(NUMBER, pa.array(self.numbers))


def _gathered(table: pa.Table, rows: npt.NDArray[Any]) -> pa.Table:
    """Return rows by their places; of chunks, one at a time, as Arrow would join them all first."""
    chunks = max((column.num_chunks for column in table.columns), default=0)
    if chunks < 2 or (np.diff(rows) < 0).any():  # noqa: PLR2004  (one chunk is the whole)
        return table.take(pa.array(rows))
    widest = max(table.columns, key=lambda column: column.num_chunks)
    ends = np.cumsum([len(chunk) for chunk in widest.chunks])
    cuts = [0, *np.searchsorted(rows, ends).tolist()]
    starts = [0, *ends.tolist()]
    parts = [
        table.slice(start, end - start).take(pa.array(rows[first:last] - start))
        for (start, end), (first, last) in zip(pairwise(starts), pairwise(cuts), strict=True)
        if first < last
    ]
    return pa.concat_tables(parts or [table.slice(0, 0)])


def joined(kind: StreamType, parts: Sequence[Items]) -> Items:
    """Return several runs of items of one type, one after another."""
    full = [each for each in parts if len(each)]
    if not full:
        return parts[0] if parts else Items.none(kind)
    if len(full) == 1:
        return full[0]
    table = pa.concat_tables([each.table for each in full], promote_options="permissive")
    return Items(kind, table, np.concatenate([each.numbers for each in full]))


def made_table(kind: StreamType, columns: Mapping[str, Any]) -> pa.Table:
    """Return columns of numpy, Arrow or Python values as the table of a type."""
    arrays = [_column(kind, each.name, columns[each.name]) for each in kind.columns]
    if len({len(array) for array in arrays}) > 1:
        sizes = {each.name: len(array) for each, array in zip(kind.columns, arrays, strict=True)}
        raise TypeMismatchError(
            f"columns of a {kind.name} have different numbers of values: {sizes}",
            hint="give one value for each item",
        )
    return pa.Table.from_arrays(arrays, names=[each.name for each in kind.columns])


def _column(kind: StreamType, name: str, value: Any) -> pa.Array | pa.ChunkedArray:
    made_of = kind.vectors.get(name)
    if made_of is not None:
        return _packed(name, value, made_of)
    if isinstance(value, (pa.Array, pa.ChunkedArray)):
        return value
    try:
        return pa.array(value, type=kind.field(name).type)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise TypeMismatchError(
            f"column {name} is {kind[name].type}: {error}", hint="give values of that type"
        ) from error


def _packed(name: str, value: Any, made_of: Any) -> pa.Array | pa.ChunkedArray:
    if isinstance(value, (pa.Array, pa.ChunkedArray)):
        if pa.types.is_binary(value.type) or pa.types.is_large_binary(value.type):
            return value
        return Vectors.from_lists(value, made_of).to_arrow()
    if isinstance(value, Vectors):
        if value.kind is made_of:
            return value.to_arrow()
        value = value.matrix if value.matrix is not None else value.each()
    _fits(name, value, made_of.dtype)
    return Vectors.of(value, made_of).to_arrow()


def _fits(name: str, value: Array | Sequence[Any], dtype: np.dtype[Any]) -> None:
    parts = [value] if isinstance(value, np.ndarray) else [np.asarray(each) for each in value]
    for part in parts:
        if not np.can_cast(part.dtype, dtype, casting="same_kind"):
            raise TypeMismatchError(
                f"column {name} is made of {dtype}, and {part.dtype} came",
                hint="cast the values, or declare the column as what they are",
            )


def arrow_field(column: Column) -> pa.Field:
    """Return a column as Arrow's field."""
    kind = kind_of(column.type)
    if kind is not None:
        return pa.field(column.name, pa.binary(), metadata={ELEMENT: kind.dtype.name.encode()})
    return pa.field(column.name, arrow_type(column.type))
