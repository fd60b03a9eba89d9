"""Values in Protobuf, by the schema that each names in a registry, or by descriptors from a file.

No compiler is needed: a registry gives descriptors, and `protoc --include_imports
--descriptor_set_out` writes them.
"""

import base64
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC
from pathlib import Path
from typing import Any

from google.protobuf import (
    any_pb2,
    duration_pb2,
    struct_pb2,
    timestamp_pb2,
    wrappers_pb2,
)
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.json_format import MessageToJson
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass

from penstock.engine.clients.kafka.registry import RegisteredSchema, Registry
from penstock.engine.interfaces.kafka.wire import framed, message_path
from penstock.errors import BadOptionError, describe

Item = Callable[[bytes], Mapping[str, Any]]
KNOWN = (any_pb2, duration_pb2, struct_pb2, timestamp_pb2, wrappers_pb2)
PACKAGE = "google.protobuf."
BAD_SCHEMA = (DecodeError, ValueError, LookupError, TypeError)


def by_registry(registry: Registry) -> Item:
    """Return what reads records that name their schemas."""
    known: dict[tuple[int, tuple[int, ...]], Any] = {}

    def item(value: bytes) -> Mapping[str, Any]:
        number, rest = framed(value)
        path, body = message_path(rest)
        if (number, path) not in known:
            known[number, path] = _class_at(registry.schema(number), path)
        return _read(body, known[number, path])

    return item


def by_file(path: Path, message: str) -> Item:
    """Return what reads records that are one message, without a number before them."""
    try:
        files = FileDescriptorSet.FromString(path.read_bytes()).file
        kind = GetMessageClass(_pool(files).FindMessageTypeByName(message))
    except (OSError, *BAD_SCHEMA) as error:
        raise BadOptionError(
            f"{path} has no descriptor of {message}: {describe(error)}",
            hint=f"protoc --include_imports --descriptor_set_out={path} …",
        ) from error
    return lambda value: _read(value, kind)


def _class_at(schema: RegisteredSchema, path: Sequence[int]) -> Any:
    """Return the message of a schema at some place; ValueError where there is none."""
    try:
        files: dict[str, FileDescriptorProto] = {}
        last = _collect(schema, "", files)
        found = _pool(list(files.values())).FindFileByName(last.name)
        names, messages = [], last.message_type
        for place in path:
            names.append(messages[place].name)
            messages = messages[place].nested_type
        outer: Any = found.message_types_by_name[names[0]]
        for name in names[1:]:
            outer = outer.nested_types_by_name[name]
        return GetMessageClass(outer)
    except BAD_SCHEMA as error:
        raise ValueError(f"its schema cannot be read: {describe(error)}") from error


def _collect(
    schema: RegisteredSchema, name: str, files: dict[str, FileDescriptorProto]
) -> FileDescriptorProto:
    """Put a file behind those that it imports, under the name by which others do."""
    for imported, reference in schema.references:
        _collect(reference, imported, files)
    file = FileDescriptorProto.FromString(base64.b64decode(schema.text))
    file.name = name or file.name or "default"
    files[file.name] = file
    return file


def _pool(files: Sequence[FileDescriptorProto]) -> DescriptorPool:
    pool = DescriptorPool()
    for each in KNOWN:
        pool.AddSerializedFile(each.DESCRIPTOR.serialized_pb)
    for file in files:
        if not file.name.startswith("google/protobuf/"):
            pool.Add(file)
    return pool


def _read(data: bytes, kind: Any) -> Mapping[str, Any]:
    try:
        return _mapping(kind.FromString(data))
    except DecodeError as error:
        raise ValueError(f"not Protobuf of its schema: {describe(error)}") from error


def _mapping(message: Any) -> dict[str, Any]:
    return {field.name: _field(message, field) for field in message.DESCRIPTOR.fields}


def _field(message: Any, field: Any) -> Any:
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        item = field.message_type.fields_by_name["value"]
        return {key: _value(value, item) for key, value in getattr(message, field.name).items()}
    if field.is_repeated:
        return [_value(each, field) for each in getattr(message, field.name)]
    if field.has_presence and not message.HasField(field.name):
        return None
    return _value(getattr(message, field.name), field)


def _value(value: Any, field: Any) -> Any:
    if field.enum_type is not None:
        known = field.enum_type.values_by_number.get(value)
        return str(value) if known is None else known.name
    if field.message_type is None:
        return value
    name = field.message_type.full_name
    if name == f"{PACKAGE}Timestamp":
        return value.ToDatetime(tzinfo=UTC)
    if name == f"{PACKAGE}Duration":
        return value.ToTimedelta()
    if name.startswith(PACKAGE):
        is_wrapped = name.endswith("Value") and "value" in field.message_type.fields_by_name
        return value.value if is_wrapped else MessageToJson(value, indent=None)
    return _mapping(value)
