"""Schemas in Spark's and in Arrow's words."""

import functools

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from penstock.model.schema import Column, Schema


def spark_schema(schema: Schema) -> StructType:
    """Return the schema as Spark's; needs a running session, which parses the types."""
    return _from_ddl(schema.ddl())


def arrow_schema(schema: Schema) -> pa.Schema:
    """Return the schema as Arrow's: TIMESTAMP is microseconds in UTC."""
    return _arrow_from_ddl(schema.ddl())


def schema_of(struct: StructType) -> Schema:
    """Return Spark's schema as ours."""
    return Schema(tuple(Column(field.name, field.dataType.simpleString()) for field in struct))


@functools.lru_cache(maxsize=1024)
def _from_ddl(ddl: str) -> StructType:
    parsed = StructType.fromDDL(ddl)
    if not isinstance(parsed, StructType):
        raise TypeError(f"not a row type: {ddl}")
    return parsed


@functools.lru_cache(maxsize=1024)
def _arrow_from_ddl(ddl: str) -> pa.Schema:
    return to_arrow_schema(_from_ddl(ddl), timezone="UTC")
