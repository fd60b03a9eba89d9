"""Values in Avro, by the schema that each names in a registry, or by one schema from a file."""

import io
import json
import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast
from uuid import UUID

from fastavro import parse_schema, schemaless_reader
from fastavro.schema import SchemaParseException, UnknownType

from penstock.engine.clients.kafka.registry import RegisteredSchema, Registry
from penstock.engine.interfaces.kafka.wire import framed
from penstock.errors import BadOptionError, describe

Item = Callable[[bytes], Mapping[str, Any]]
# What fastavro raises over bytes that are not what the schema says.
NOT_AVRO = (
    ValueError, LookupError, TypeError, EOFError, OverflowError, StopIteration, struct.error,
    ArithmeticError, MemoryError, RecursionError,
)  # fmt: skip
BAD_SCHEMA = (SchemaParseException, UnknownType, ValueError, LookupError, TypeError)


def by_registry(registry: Registry) -> Item:
    """Return what reads records that name their schemas."""
    parsed: dict[int, Any] = {}

    def item(value: bytes) -> Mapping[str, Any]:
        number, rest = framed(value)
        if number not in parsed:
            parsed[number] = _parsed(registry.schema(number))
        return _read(rest, parsed[number])

    return item


def by_file(path: Path) -> Item:
    """Return what reads records of one schema, without a number before them."""
    try:
        schema = _parsed(RegisteredSchema(path.read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise BadOptionError(f"{path} is no schema of Avro: {describe(error)}") from error
    return lambda value: _read(value, schema)


def _parsed(schema: RegisteredSchema, known: dict[str, Any] | None = None) -> Any:
    """Return a schema with those that it refers to; ValueError where it is none."""
    named: dict[str, Any] = {} if known is None else known
    try:
        for _, reference in schema.references:
            _parsed(reference, named)
        return parse_schema(json.loads(schema.text), named_schemas=named)
    except BAD_SCHEMA as error:
        raise ValueError(f"its schema cannot be read: {describe(error)}") from error


def _read(data: bytes, schema: Any) -> Mapping[str, Any]:
    file = io.BytesIO(data)
    try:
        found = cast(object, schemaless_reader(file, schema, None))
    except NOT_AVRO as error:
        raise ValueError(f"not Avro of its schema: {describe(error)}") from error
    if file.tell() != len(data):
        raise ValueError(f"{len(data) - file.tell()} bytes follow what its schema says")
    if not isinstance(found, dict):
        raise ValueError("its schema is none of a record")  # noqa: TRY004 - of one value
    return {str(name): _plain(value) for name, value in found.items()}


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, UUID) else value
