"""Lines that Spark refuses and that mean something all the same: the text that it takes instead.

Spark's JSON reader takes whole seconds for a TIMESTAMP and no fraction of one. Where a source is
`lenient`, a number without a fraction (`2.0`) is a whole number.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any

from penstock.engine.interfaces.formats.quoted import fields
from penstock.model.schema import Schema

MICROSECONDS = 1_000_000
MOST_WHOLE = 2**63  # beyond any integer type; an exponent may stand for a million digits
INTEGERS = ("tinyint", "smallint", "int", "bigint", "byte", "short", "integer", "long")
TIMES = ("timestamp", "timestamp_ltz")
MARK = "\0penstock "  # before the digits of a number, which json would print as a float
MARKED = re.compile(r'"\\u0000penstock ([^"]*)"')


@dataclass(frozen=True, slots=True)
class Mended:
    """A line in other words, and the microseconds to add to its times."""

    line: str
    microseconds: Mapping[str, int] = field(default_factory=dict)


def mended_json(line: str, schema: Schema, *, lenient: bool) -> Mended | None:
    """Return a JSON object with whole numbers where they are meant, or None where none is."""
    try:
        given = json.loads(line, parse_float=Decimal)
    except (ValueError, RecursionError, InvalidOperation):
        return None
    if not isinstance(given, dict):
        return None
    changed, rest = dict[str, int](), dict[str, int]()
    for column in schema:
        value = given.get(column.name)
        if not isinstance(value, Decimal) or not value.copy_abs() < MOST_WHOLE:
            continue
        if column.type in TIMES:
            changed[column.name] = int(value // 1) - (value < 0 and value % 1 != 0)
            rest[column.name] = int((value - changed[column.name]) * MICROSECONDS)
        elif lenient and column.type in INTEGERS and value % 1 == 0:
            changed[column.name] = int(value)
    return Mended(_written(given | changed), rest) if changed else None


def mended_csv(line: str, names: tuple[str, ...], schema: Schema, delimiter: str) -> Mended | None:
    """Return a record whose whole numbers are written without a fraction, or None.

    All else stays as it was written.
    """
    cells = fields(line, delimiter)
    if len(cells) != len(names):
        return None
    kinds = {column.name: column.type for column in schema}
    whole = [
        _whole(cell) if kinds.get(name) in INTEGERS else None
        for name, cell in zip(names, cells, strict=True)
    ]
    if not any(whole):
        return None
    return Mended(delimiter.join(new or old for new, old in zip(whole, cells, strict=True)))


def _whole(cell: str) -> str | None:
    """Return a number's digits where it has a fraction of nothing."""
    try:
        number = Decimal(cell.strip().strip('"'))
    except InvalidOperation:
        return None
    if not (number.is_finite() and number.copy_abs() < MOST_WHOLE and number % 1 == 0):
        return None
    return str(int(number))


def _written(value: Mapping[str, Any]) -> str:
    """Return JSON, its numbers with all their digits."""
    return MARKED.sub(r"\1", json.dumps(value, default=lambda number: f"{MARK}{number}"))
