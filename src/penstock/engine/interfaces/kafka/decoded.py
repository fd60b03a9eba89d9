"""What becomes of records' values: rows of those that fit, rejects of the others."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import pyarrow as pa

from penstock.engine.interfaces.rejects import Reject, misfit
from penstock.engine.interfaces.rows import array_of, table_of_rows
from penstock.engine.trains.types import arrow_schema
from penstock.errors import BadRowError, PenstockError, shortened
from penstock.model.schema import Schema

Values = Sequence[bytes]


@dataclass(frozen=True, slots=True)
class Decoded:
    """Rows of the values that fit, in their order, and the others by their places."""

    rows: pa.Table
    misfits: Mapping[int, Reject] = field(default_factory=dict)


class Decoder(Protocol):
    """One format of values."""

    def open(self) -> None:
        """Raise what cannot be read into the stream's columns."""
        ...

    def decode(self, values: Values) -> Decoded:
        """Return rows of the columns that come from values; SourceError where it may come yet."""
        ...


class ItemDecoder:
    """Values that a function reads one by one, each into a mapping of names to Python's values.

    Names that the stream has no column for are passed over, columns without a name are null.
    """

    def __init__(self, columns: Schema, item: Callable[[bytes], Mapping[str, Any]]) -> None:
        """Take what raises ValueError where a value is not what it should be."""
        self._columns, self._item = columns, item

    def open(self) -> None:
        """Look at nothing: the types show with the values."""

    def decode(self, values: Values) -> Decoded:
        items: list[dict[str, Any]] = []
        misfits: dict[int, Reject] = {}
        places: list[int] = []
        for at, value in enumerate(values):
            try:
                items.append(self._known(self._item(value)))
                places.append(at)
            except PenstockError:
                raise
            except ValueError as error:
                misfits[at] = Reject(value.hex(), shortened(str(error)), kind="syntax")
        schema = arrow_schema(self._columns)
        try:
            return Decoded(table_of_rows(items, schema), misfits)
        except BadRowError:
            pass  # some do not fit: which?
        wrong = {at: self._misfit(item) for at, item in enumerate(items)}
        misfits |= {places[at]: reject for at, reject in wrong.items() if reject is not None}
        fitting = [item for at, item in enumerate(items) if wrong[at] is None]
        return Decoded(table_of_rows(fitting, schema), misfits)

    def _known(self, item: Mapping[str, Any]) -> dict[str, Any]:
        given = {name.lower(): value for name, value in item.items()}
        return {name: given.get(name.lower()) for name in self._columns.names}

    def _misfit(self, item: Mapping[str, Any]) -> Reject | None:
        for column in self._columns:
            value = item[column.name]
            try:
                array_of([value], arrow_schema(Schema((column,))).field(0))
            except BadRowError:
                return misfit(json.dumps(item, default=str), column, value)
        return None
