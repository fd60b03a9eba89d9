"""Schemas in Spark's and in Arrow's words.

A vector column is BINARY, and says in its metadata what its elements are: Spark carries that along
wherever a column is passed on as it stands.
"""

import functools
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql.pandas.types import from_arrow_metadata, from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructField, StructType

from penstock.functions.data.vectors import ELEMENT, Kind, kind_of
from penstock.model.functions.vectors import VECTOR, VECTORS, element_of, vector_type
from penstock.model.schema import Column, Schema


def spark_schema(schema: Schema) -> StructType:
    """Return the schema as Spark's; needs a running session, which parses the types."""
    return _with_vectors(schema) if _has_vectors(schema) else _from_ddl(schema.ddl())


def arrow_schema(schema: Schema) -> pa.Schema:
    """Return the schema as Arrow's: TIMESTAMP is microseconds in UTC."""
    if _has_vectors(schema):
        return _arrow_with_vectors(schema)
    return _arrow_from_ddl(schema.ddl())


def schema_of(struct: StructType) -> Schema:
    """Return Spark's schema as ours."""
    return Schema(tuple(Column(field.name, _type_of(field)) for field in struct))


def sql_types(schema: pa.Schema) -> list[str]:
    """Return the columns' types as SQL writes them; Arrow's own word where SQL has none."""
    return [_sql_type(field) for field in schema]


def vectors_in(schema: pa.Schema) -> dict[str, Kind]:
    """Return the columns of a table that hold vectors."""
    told = {field.name: _element(from_arrow_metadata(field.metadata)) for field in schema}
    kinds = {name: kind_of(vector_type(element)) for name, element in told.items() if element}
    return {name: kind for name, kind in kinds.items() if kind is not None}


@functools.lru_cache(maxsize=1024)
def _from_ddl(ddl: str) -> StructType:
    parsed = StructType.fromDDL(ddl)
    if not isinstance(parsed, StructType):
        raise TypeError(f"not a row type: {ddl}")
    return parsed


@functools.lru_cache(maxsize=1024)
def _arrow_from_ddl(ddl: str) -> pa.Schema:
    return to_arrow_schema(_from_ddl(ddl), timezone="UTC")


@functools.lru_cache(maxsize=1024)
def _with_vectors(schema: Schema) -> StructType:
    fields = zip(_from_ddl(_packed(schema).ddl()), schema, strict=True)
    return StructType([_marked(field, element_of(column)) for field, column in fields])


@functools.lru_cache(maxsize=1024)
def _arrow_with_vectors(schema: Schema) -> pa.Schema:
    fields = zip(to_arrow_schema(_with_vectors(schema), timezone="UTC"), schema, strict=True)
    return pa.schema([_told(field, kind_of(column.type)) for field, column in fields])


def _has_vectors(schema: Schema) -> bool:
    return any(column.type in VECTORS for column in schema)


def _packed(schema: Schema) -> Schema:
    return Schema(tuple(Column(c.name, "binary" if element_of(c) else c.type) for c in schema))


def _marked(field: StructField, element: str | None) -> StructField:
    if element is None:
        return field
    return StructField(field.name, field.dataType, field.nullable, {VECTOR: element})


def _told(field: pa.Field, kind: Kind | None) -> pa.Field:
    """Return the field with its element also in the words of `penstock.functions`."""
    if kind is None:
        return field
    return field.with_metadata({**field.metadata, ELEMENT: kind.dtype.name.encode()})


def _type_of(field: StructField) -> str:
    element = _element(field.metadata)
    return field.dataType.simpleString() if element is None else vector_type(element)


def _sql_type(field: pa.Field) -> str:
    try:
        return (
            schema_of(from_arrow_schema(pa.schema([field]), prefer_timestamp_ntz=True))
            .columns[0]
            .type
        )
    except (PySparkException, TypeError):
        return str(field.type)


def _element(metadata: Mapping[str, Any] | None) -> str | None:
    return (metadata or {}).get(VECTOR)
