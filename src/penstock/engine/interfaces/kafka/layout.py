"""Which columns of a stream hold records' values, and which what stands beside them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.engine.options import Declared, text
from penstock.errors import TypeMismatchError, UnknownColumnError
from penstock.model.definitions import StreamDefinition
from penstock.model.schema import Column, Schema

BESIDE = {
    "key_column": (("string", "binary"), "the record's key"),
    "headers_column": (("map<string,string>", "map<string,binary>"), "the record's headers"),
    "timestamp_column": (("timestamp",), "the record's time"),
    "topic_column": (("string",), "the topic"),
    "partition_column": (("int", "bigint"), "the partition's number"),
    "offset_column": (("bigint",), "the record's offset in its partition"),
}
BESIDE_OPTIONS = {
    name: Declared(text, about=f"a column ({' or '.join(types).upper()}) that takes {about}")
    for name, (types, about) in BESIDE.items()
}


@dataclass(frozen=True, slots=True)
class Layout:
    """Which columns of a stream come from the records' values, and which from beside them."""

    schema: Schema
    values: Schema
    beside: Mapping[str, str]  # what, by the column's name

    @classmethod
    def of(cls, definition: StreamDefinition, options: Mapping[str, Any]) -> "Layout":
        """Return where columns come from, or raise what does not fit the stream."""
        beside: dict[str, str] = {}
        for what, (types, _) in BESIDE.items():
            if options[what] is None:
                continue
            column = _found(definition, options[what])
            if column.type.lower().replace(" ", "") not in types:
                raise TypeMismatchError(
                    f"{what} of kafka: {column.name} is {column.type.upper()}",
                    hint=f"declare it as {' or '.join(types).upper()}",
                )
            if column.name in beside:
                raise TypeMismatchError(
                    f"{column.name} is named by {beside[column.name]} and by {what} of kafka",
                    hint="a column holds one of them",
                )
            beside[column.name] = what
        values = Schema(tuple(c for c in definition.schema if c.name not in beside))
        return cls(definition.schema, values, beside)


def _found(definition: StreamDefinition, name: str) -> Column:
    column = definition.schema.find(name)
    if column is None:
        raise UnknownColumnError(
            f"{definition.name} has no column {name}",
            hint=f"there is {', '.join(definition.schema.names)}",
        )
    return column
