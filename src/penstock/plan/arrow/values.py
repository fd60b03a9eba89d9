"""Values: what an expression computes of the columns of one relation, with the types of Spark."""

from dataclasses import dataclass

WHOLE = ("tinyint", "smallint", "int", "bigint")
DECIMAL = "decimal"  # of a literal such as 1.5, which is exact until it meets a double


class NotPlainError(Exception):
    """Arrow would not answer as Spark does, or nobody has shown that it would."""


@dataclass(frozen=True, slots=True)
class Ref:
    """A column of the relation, by its place."""

    place: int
    type: str


@dataclass(frozen=True, slots=True)
class Const:
    """A literal; None is a NULL of its type."""

    value: int | float | str | bool | None
    type: str


@dataclass(frozen=True, slots=True)
class Param:
    """A BIGINT literal that differs from one SELECT of a shape to the next, by its place."""

    place: int
    type: str = "bigint"


@dataclass(frozen=True, slots=True)
class Call:
    """A function of `engine/arrow/kernels.py` over other values."""

    name: str
    args: "tuple[Value, ...]"
    type: str


Value = Ref | Const | Param | Call


def common_type(*types: str) -> str:
    """Return the type in which Spark compares or adds values of these."""
    kinds = set(types)
    if len(kinds) == 1 and DECIMAL not in kinds:
        return types[0]
    if kinds <= set(WHOLE):
        return max(types, key=WHOLE.index)
    if "double" in kinds and kinds <= {*WHOLE, "double", DECIMAL}:
        return "double"
    raise NotPlainError


def coerced(value: Value, type_: str) -> Value:
    """Return the value as another type, as Spark casts it where no other is meant."""
    if value.type == type_:
        return value
    if isinstance(value, Const) and value.type in (*WHOLE, DECIMAL) and value.value is not None:
        if type_ == "double":
            return Const(float(value.value), type_)
        if value.type in WHOLE and type_ in WHOLE:
            return Const(value.value, type_)
    if value.type in WHOLE and type_ in (*WHOLE, "double"):
        return Call("cast", (value,), type_)
    raise NotPlainError


def alike(*values: Value) -> tuple[Value, ...]:
    """Return the values in the type that they have in common."""
    type_ = common_type(*(value.type for value in values))
    return tuple(coerced(value, type_) for value in values)
