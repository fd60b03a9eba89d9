"""Items that a flow could not carry on: named, and kept readable as JSON."""

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from penstock.functions.data.items import Items
from penstock.functions.operators.operator import Withheld

MOST_ELEMENTS = 16_384  # of a vector that is told whole: as text it takes ten times its bytes
SOME_ELEMENTS = 16


class HeldItem(NamedTuple):
    """One item, why it went no further, and where."""

    kind: str
    site: int
    function: str
    cause: str
    item: str


def held_items(withheld: Iterable[Withheld], site_of: dict[int, int]) -> tuple[HeldItem, ...]:
    """Return a row for each item; complex elements are pairs, as in other JSON."""
    return tuple(
        HeldItem(each.kind, site_of.get(each.node, -1), each.function, each.cause, text)
        for each in withheld
        for text in _texts(each.items)
    )


def _texts(items: Items) -> list[str]:
    found = items.type.vectors
    rows = items.table.drop_columns(list(found)).to_pylist()
    for name, kind in found.items():
        size = kind.dtype.itemsize
        for row, value in zip(rows, items.table[name].to_pylist(), strict=True):
            whole = value is not None and len(value) % size == 0
            row[name] = _numbers(np.frombuffer(value, kind.dtype)) if whole else _told(value)
    return [json.dumps(row, default=str) for row in rows]


def _numbers(vector: Any) -> Any:
    if len(vector) > MOST_ELEMENTS:
        return {"elements": len(vector), "first": _numbers(vector[:SOME_ELEMENTS])}
    if vector.dtype.kind == "c":
        return np.stack([vector.real, vector.imag], axis=1).tolist()
    return vector.tolist()


def _told(value: bytes | None) -> str | None:
    return None if value is None else f"{len(value)} bytes"
