"""What operators keep from step to step, as one value and as bytes."""

import io
import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

_LENGTH = struct.Struct("<q")


@dataclass(frozen=True, slots=True)
class OperatorState:
    """A state: a few facts that JSON can hold, and tables of items."""

    facts: Mapping[str, Any] = field(default_factory=dict)
    tables: Mapping[str, pa.Table] = field(default_factory=dict)


def to_bytes(states: Mapping[str, OperatorState]) -> bytes:
    """Return states by name as bytes: lengths and JSON first, then Arrow's stream format."""
    out = io.BytesIO()
    blobs = [
        (name, table, _written(each.tables[table]))
        for name, each in states.items()
        for table in each.tables
    ]
    head = json.dumps(
        {
            "facts": {name: dict(each.facts) for name, each in states.items()},
            "tables": [(name, table, len(blob)) for name, table, blob in blobs],
        }
    ).encode()
    out.write(_LENGTH.pack(len(head)))
    out.write(head)
    for _, _, blob in blobs:
        out.write(blob)
    return out.getvalue()


def from_bytes(data: bytes) -> dict[str, OperatorState]:
    """Return the states that `to_bytes` wrote."""
    start = _LENGTH.size
    (length,) = _LENGTH.unpack(data[:start])
    head = json.loads(data[start : start + length])
    place = start + length
    tables: dict[str, dict[str, pa.Table]] = {name: {} for name in head["facts"]}
    for name, table, size in head["tables"]:
        tables[name][table] = pa.ipc.open_stream(data[place : place + size]).read_all()
        place += size
    return {name: OperatorState(facts, tables[name]) for name, facts in head["facts"].items()}


def _written(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())
