"""A twin of Spark's reading of types, for tests that hold rows and start no Spark."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

import pyarrow as pa

from penstock.engine.trains import types

KINDS = {
    "int": pa.int32(),
    "bigint": pa.int64(),
    "binary": pa.binary(),
    "boolean": pa.bool_(),
    "double": pa.float64(),
    "string": pa.string(),
    "timestamp": pa.timestamp("us", "UTC"),
}


def arrow_of(ddl: str) -> pa.Schema:
    """Return a flat schema of plain types, as Spark would have it."""
    return pa.schema([(name, KINDS[kind]) for name, kind in re.findall(r"`(\w+)` (\w+)", ddl)])


@contextmanager
def arrow_without_spark() -> Iterator[None]:
    with mock.patch.object(types, "_arrow_from_ddl", arrow_of):
        yield
