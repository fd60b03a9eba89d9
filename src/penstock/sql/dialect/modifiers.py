"""Modifiers: adiff, rdiff and aslope, functions of two consecutive tuples of a partition."""

from dataclasses import dataclass
from typing import Literal

from sqlglot import exp

from penstock.errors import BadOptionError, BadQueryError, Place, UnknownOptionError
from penstock.sql.dialect.refusals import near_miss

Name = Literal["adiff", "rdiff", "aslope"]
Profile = Literal["N", "O"]


@dataclass(frozen=True, slots=True)
class _Shape:
    takes: int
    options: tuple[str, ...]
    example: str


SHAPES: dict[Name, _Shape] = {
    "adiff": _Shape(1, ("profile",), "adiff(x)"),
    "rdiff": _Shape(1, ("pseudo", "profile"), "rdiff(x, pseudo => 0.001)"),
    "aslope": _Shape(2, ("pseudo", "profile"), "aslope(y, x, profile => 'O')"),
}
# What belongs to a call of an aggregate, and what is no value of one tuple.
AROUND = exp.Filter | exp.WithinGroup | exp.IgnoreNulls | exp.RespectNulls
NO_VALUE = (
    exp.Alias
    | exp.Distinct
    | exp.IgnoreNulls
    | exp.Lambda
    | exp.Limit
    | exp.Order
    | exp.Query
    | exp.RespectNulls
    | exp.Star
)


@dataclass(frozen=True, slots=True)
class ModifierCall:
    """A modifier over its arguments; `profile` tells whose values the row's other columns have."""

    name: Name
    arguments: tuple[exp.Expr, ...]
    pseudo: exp.Expr | None = None
    profile: Profile = "N"
    partition_by: tuple[exp.Expr, ...] = ()


def modifier_of(node: exp.Expr) -> ModifierCall | None:
    """Return the modifier that the node calls, or None; refuse a call that makes no sense.

    Where OVER follows a call, the `exp.Window` is the modifier, and the call inside it is none.
    """
    over = node if isinstance(node, exp.Window) else None
    call = node.this if over else node
    name = _name(call.this if isinstance(call, AROUND) else call)
    if name is None or (isinstance(node.parent, exp.Window | AROUND) and node.arg_key == "this"):
        return None
    place = place_of(node)
    if isinstance(call, AROUND):
        raise BadQueryError(
            f"{name} is no aggregate: no FILTER, WITHIN GROUP or NULLS belongs to it",
            hint=f"write {SHAPES[name].example}, and filter with WHERE",
            place=place,
        )
    options = {one.name.lower(): one.expression for one in call.expressions if _is_option(one)}
    _check_options(name, [one.name for one in call.expressions if _is_option(one)], place)
    return ModifierCall(
        name,
        _arguments(name, call, place),
        options.get("pseudo"),
        _profile(options.get("profile"), place),
        _keys(name, over, place) if over else (),
    )


def place_of(node: exp.Expr) -> Place | None:
    """Return where the node stands, if the parser noted it; the text itself is not known here."""
    for each in node.walk():
        if "line" in each.meta:
            width = each.meta["end"] - each.meta["start"]
            return Place(each.meta["line"], max(1, each.meta["col"] - width))
    return None


def _name(call: object) -> Name | None:
    if not isinstance(call, exp.Anonymous):
        return None
    return next((name for name in SHAPES if name == call.name.lower()), None)


def _is_option(argument: exp.Expr) -> bool:
    return isinstance(argument, exp.Kwarg)


def _arguments(name: Name, call: exp.Expr, place: Place | None) -> tuple[exp.Expr, ...]:
    shape = SHAPES[name]
    arguments = tuple(one for one in call.expressions if not _is_option(one))
    if len(arguments) != shape.takes:
        plural = "" if shape.takes == 1 else "s"
        raise BadQueryError(
            f"{name} takes {shape.takes} argument{plural} and was given {len(arguments)}",
            hint=f"write {shape.example}",
            place=place,
        )
    if any(isinstance(one, NO_VALUE) for one in arguments):
        raise BadQueryError(
            f"{name} takes values of its tuple", hint=f"write {shape.example}", place=place
        )
    return arguments


def _check_options(name: Name, given: list[str], place: Place | None) -> None:
    known = SHAPES[name].options
    for option in given:
        if option.lower() not in known:
            hint = near_miss(option, known).lower() or f"one of {', '.join(known)}"
            raise UnknownOptionError(f"{name} has no option {option}", hint=hint, place=place)
    if len({option.lower() for option in given}) < len(given):
        raise BadOptionError(f"an option of {name} is given twice", place=place)


def _profile(value: exp.Expr | None, place: Place | None) -> Profile:
    match value.name.upper() if isinstance(value, exp.Literal) and value.is_string else value:
        case None | "N":
            return "N"
        case "O":
            return "O"
        case _:
            raise BadOptionError(
                "profile must be 'N' or 'O'",
                hint="'N' gives the other columns their new values, 'O' their old ones",
                place=place,
            )


def _keys(name: Name, over: exp.Window, place: Place | None) -> tuple[exp.Expr, ...]:
    if any(over.args.get(part) for part in ("order", "spec", "alias", "first")):
        raise BadQueryError(
            f"OVER of {name} has only PARTITION BY: the order is the stream's own",
            hint=f"write {name}(…) OVER (PARTITION BY a, b)",
            place=place,
        )
    return tuple(over.args.get("partition_by") or ())
