"""Our columns' types in PostgreSQL's words."""

import pyarrow as pa
from pyarrow import types

from penstock.engine.trains.types import vectors_in
from penstock.errors import TypeMismatchError

JSON = "jsonb"
FLAT = (
    (types.is_boolean, "boolean"),
    (types.is_int8, "smallint"),
    (types.is_int16, "smallint"),
    (types.is_int32, "integer"),
    (types.is_int64, "bigint"),
    (types.is_float32, "real"),
    (types.is_float64, "double precision"),
    (types.is_string, "text"),
    (types.is_large_string, "text"),
    (types.is_binary, "bytea"),
    (types.is_large_binary, "bytea"),
    (types.is_date32, "date"),
    (types.is_time, "time"),
    (types.is_duration, "interval"),
)
LISTS = (types.is_list, types.is_large_list, types.is_fixed_size_list)
REAL = {"float32": "real[]", "float64": "double precision[]"}  # vectors, by their elements


def postgres_types(schema: pa.Schema) -> dict[str, str]:
    """Return each column's type, or raise which one has none."""
    vectors = {name: kind.dtype.name for name, kind in vectors_in(schema).items()}
    made: dict[str, str] = {}
    for field in schema:
        element = vectors.get(field.name)
        found = REAL.get(element) if element else postgres_type(field.type)
        if found is None:
            raise TypeMismatchError(
                f"column {field.name} has the type {element or field.type}, "
                "and PostgreSQL has none that holds it",
                hint="cast it in the query, or take its real and imaginary parts by themselves"
                if element
                else "cast it in the query, for instance to STRING",
            )
        made[field.name] = found
    return made


def postgres_type(kind: pa.DataType) -> str | None:
    """Return PostgreSQL's type for values of one of Arrow's, or None where it has none."""
    if types.is_decimal(kind):
        return f"numeric({kind.precision},{kind.scale})"
    if types.is_timestamp(kind):
        return "timestamptz" if kind.tz else "timestamp"
    if any(is_one(kind) for is_one in LISTS):
        element = postgres_type(kind.value_type)
        # Arrays of arrays have to be rectangular there, and documents are no elements of ours.
        nested = element is not None and (element.endswith("[]") or element == JSON)
        return JSON if nested else element and f"{element}[]"
    if types.is_struct(kind) or types.is_map(kind):
        return JSON
    return next((name for is_one, name in FLAT if is_one(kind)), None)
