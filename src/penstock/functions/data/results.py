"""What type comes out of a function, said from what goes in."""

from collections.abc import Mapping
from typing import Any

from penstock.errors import TypeMismatchError
from penstock.functions.data.items import StreamType
from penstock.functions.data.vectors import Kind


def same(given: StreamType, _parameters: Mapping[str, Any]) -> StreamType:
    """Return the type that goes in."""
    return given


def with_vectors(given: StreamType, _parameters: Mapping[str, Any]) -> StreamType:
    """Return the type that goes in, which has to have vectors."""
    if not given.vectors:
        raise TypeMismatchError(
            f"type {given.name} has no vectors", hint="such as x COMPLEX VECTOR"
        )
    return given


def complex_vectors(given: StreamType, parameters: Mapping[str, Any]) -> StreamType:
    """Return the type that goes in, its vectors complex."""
    with_vectors(given, parameters)
    return given.with_vectors({name: kind.complex for name, kind in given.vectors.items()})


def vector_column(given: StreamType, name: str) -> Kind:
    """Return what a vector column is made of, or refuse a column that is none."""
    column = given[name]
    kind = given.vectors.get(column.name)
    if kind is None:
        raise TypeMismatchError(
            f"{name} of type {given.name} is {column.type}, not a vector",
            hint=f"its vectors are {', '.join(given.vectors) or 'none'}",
        )
    return kind
