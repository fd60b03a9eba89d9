"""Widths: how many bytes a tuple takes, told by its columns where none has been measured."""

from penstock.model.schema import Schema

# As Arrow keeps them; of what has no fixed size, about what people put there.
FIXED = {"boolean": 0.125, "tinyint": 1, "smallint": 2, "int": 4, "float": 4, "date": 4}
EIGHT = ("bigint", "double", "timestamp", "timestamp_ntz")
DECIMAL, TEXT, NESTED = 16.0, 16.0, 64.0


def width_of(schema: Schema) -> float:
    """Return the bytes of a tuple of these columns, never none."""
    return max(1.0, sum(_column(column.type) for column in schema))


def _column(kind: str) -> float:
    if kind in FIXED:
        return FIXED[kind]
    if kind in EIGHT or kind.startswith("interval"):
        return 8.0
    if kind.startswith("decimal"):
        return DECIMAL
    return TEXT if kind in ("string", "binary") or "char" in kind else NESTED
