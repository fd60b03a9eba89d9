"""Frozen records as JSON data and back, by the types of their fields.

A field with a default may be missing in what was kept; a field that there is not, or a value of
another type, is an error: a record is read whole or not at all.
"""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from penstock.model.stored_names import stored_name

Kept = TypeVar("Kept")
_hints: dict[type, dict[str, Any]] = {}  # to find them takes as long as to read a hundred records


def to_json(value: Any) -> Any:
    """Return a record, or what its fields hold, as JSON data."""
    if is_dataclass(value):
        return {stored_name(each): to_json(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Mapping):
        return {name: to_json(each) for name, each in value.items()}
    if isinstance(value, tuple | list):
        return [to_json(each) for each in value]
    return value


def from_json(kind: type[Kept], data: Any) -> Kept:
    """Return the record that `to_json` was given; raise TypeError where the data is no such."""
    found: Kept = _read(kind, data)
    return found


def _read(kind: Any, data: Any) -> Any:
    origin = get_origin(kind)
    if kind is Any:
        return data
    if origin in (Union, UnionType):
        (inner,) = (each for each in get_args(kind) if each is not NoneType)
        return None if data is None else _read(inner, data)
    if origin is tuple:
        kinds = get_args(kind)
        if kinds[-1] is Ellipsis:
            return tuple(_read(kinds[0], each) for each in data)
        return tuple(_read(each, one) for each, one in zip(kinds, data, strict=True))
    if origin is not None:  # the only other one that records have is Mapping
        inner = get_args(kind)[1]
        return {name: _read(inner, each) for name, each in data.items()}
    if isinstance(kind, type) and is_dataclass(kind):
        hints = _hints.get(kind) or _hints.setdefault(kind, get_type_hints(kind))
        names = {stored_name(each): each.name for each in fields(kind)}
        known = {names.get(name, name): each for name, each in data.items()}
        return kind(**{name: _read(hints.get(name, Any), each) for name, each in known.items()})
    if not isinstance(data, (int, float) if kind is float else kind):
        raise TypeError(f"{data!r} is no {kind.__name__}")
    return data
