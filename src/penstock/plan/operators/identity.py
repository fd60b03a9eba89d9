"""The identity of operators: what a state, a run and a buffer belong to over restarts.

It is made of what an operator *is* (its kind, its arguments, its inputs), never of how EXPLAIN
shows it, so that a reworded line loses no state. It is durable: homes hold it.

- A kind is the class's `KIND`, or its name. Give a class that is renamed its old name as `KIND`,
  and a field that is renamed its old name by `stored_as`.
- Arguments that have their default value are left out: a new one with a default that means what
  was done before changes no identity.
- Fields with `compare=False` are no part of it. Where two operators that are written differently
  are the same, `identity` of the class says what they have in common.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from datetime import timedelta
from enum import Enum
from fractions import Fraction
from typing import Any

from penstock.model.stored_names import stored_name
from penstock.plan.operators.operator import Operator

KEY_DIGITS = 16  # 64 bits: two of a million plans meet by chance once in 37 million systems
REMEMBERED = 65_536  # keys of operators; the nodes of ten thousand queries

# By identity, since to hash or compare an operator is to walk all of its plan. An entry holds its
# operator, so that no other can get the same identity while it is here.
_known: dict[int, tuple[Operator, str]] = {}
_kinds: dict[type, tuple[tuple[str, str, object], ...]] = {}


def key(operator: Operator) -> str:
    """Return the name of the node: equal for equal sub-plans, stable over restarts."""
    if (found := _known.get(id(operator))) is not None:
        return found[1]
    name = hashlib.sha256(identity(operator).encode()).hexdigest()[:KEY_DIGITS]
    if len(_known) >= REMEMBERED:
        _known.clear()
    _known[id(operator)] = (operator, name)
    return name


def walk(operator: Operator) -> Iterator[Operator]:
    """Yield the operator and everything below it, each node once, inputs first."""
    seen: set[str] = set()

    def visit(node: Operator) -> Iterator[Operator]:
        if key(node) in seen:
            return
        seen.add(key(node))
        for each in node.inputs:
            yield from visit(each)
        yield node

    return visit(operator)


def identity(operator: Operator) -> str:
    """Return what makes an operator this one, as JSON; operators below it by their keys."""
    return json.dumps(_of_dataclass(operator), separators=(",", ":"), sort_keys=True)


def canonical(value: Any) -> Any:
    """Return a value as JSON data that is equal for equal values."""
    if isinstance(value, Enum):
        return canonical(value.value)
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, tuple | list):
        return [canonical(each) for each in value]
    if isinstance(value, Mapping):
        return sorted([canonical(k), canonical(v)] for k, v in value.items())
    if isinstance(value, frozenset | set):
        return sorted((canonical(each) for each in value), key=json.dumps)
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, timedelta):
        return value // timedelta(microseconds=1)
    if _is_operator(type(value)):
        return key(value)
    if is_dataclass(value):
        return _of_dataclass(value)
    raise TypeError(f"{type(value).__name__} has no canonical form")


def _of_dataclass(value: Any) -> list[Any]:
    kind = getattr(type(value), "KIND", type(value).__name__)
    if hasattr(value, "identity"):
        return [kind, canonical(value.identity())]
    arguments = _arguments(type(value))
    given = ((stored, getattr(value, name), default) for name, stored, default in arguments)
    return [kind, {stored: canonical(it) for stored, it, default in given if it != default}]


def _arguments(kind: Any) -> tuple[tuple[str, str, object], ...]:
    """Return the arguments of a class that are part of its values' identity, with defaults."""
    if kind not in _kinds:
        _kinds[kind] = tuple(
            (f.name, stored_name(f), _default(f)) for f in fields(kind) if f.compare
        )
    return _kinds[kind]


def _default(field: "Field[Any]") -> object:
    return field.default_factory() if field.default_factory is not MISSING else field.default


def _is_operator(kind: type) -> bool:
    return hasattr(kind, "inputs") and hasattr(kind, "sql")
