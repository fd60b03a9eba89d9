"""From an expression of Spark SQL to a value, where Arrow computes it exactly as Spark does.

What a kernel cannot answer for some rows (a sum past 64 bits, a division by zero) it refuses when
it meets them. What is not always the same is not here: numbers with fractions as text, sines.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp, parse_one

from penstock.plan.arrow.numbers import PARAM
from penstock.plan.arrow.values import (
    DECIMAL,
    WHOLE,
    Call,
    Const,
    NotPlainError,
    Param,
    Ref,
    Value,
    alike,
    coerced,
    common_type,
)

LARGEST_INT = 2**31
LARGEST = 2**63
MOST_CHAINED = 100  # values of IN, or arms of CASE
MOST_DIGITS = 15  # of a rounding: ten to that is a double without error
ORDERED = (*WHOLE, "double", "string", "boolean", "timestamp")
TYPES = {
    exp.DType.TINYINT: "tinyint",
    exp.DType.SMALLINT: "smallint",
    exp.DType.INT: "int",
    exp.DType.BIGINT: "bigint",
    exp.DType.DOUBLE: "double",
    exp.DType.TEXT: "string",
    exp.DType.BOOLEAN: "boolean",
    exp.DType.TIMESTAMPTZ: "timestamp",
}


@dataclass(frozen=True, slots=True)
class Scope:
    """The columns that names mean: (name of the relation, name, type).

    `known` are expressions that are columns already, such as the keys of a GROUP BY.
    """

    columns: tuple[tuple[str, str, str], ...]
    known: Mapping[exp.Expr, Ref] = field(default_factory=dict)

    def find(self, node: exp.Column) -> Ref:
        """Return the one column that a name means."""
        if len(node.parts) > 2:  # noqa: PLR2004  (a relation's name and a column's)
            raise NotPlainError
        table, name = node.table.lower(), node.name.lower()
        found = [
            Ref(place, type_)
            for place, (of, column, type_) in enumerate(self.columns)
            if column.lower() == name and table in ("", of.lower())
        ]
        if len(found) != 1:
            raise NotPlainError
        return found[0]


def value_of(node: object, scope: Scope) -> Value:
    """Return what an expression computes, or raise NotPlainError."""
    if isinstance(node, exp.Expr) and (known := scope.known.get(node)) is not None:
        return known
    read = READERS.get(type(node))
    if read is None:
        raise NotPlainError
    return read(node, scope)


def condition_of(node: object, scope: Scope) -> Value:
    """Return the value of a condition."""
    found = value_of(node, scope)
    if found.type != "boolean":
        raise NotPlainError
    return found


Reader = Callable[..., Value]


def _literal(node: exp.Literal, _: Scope) -> Value:
    if node.is_string:
        return Const(str(node.this), "string")
    text = str(node.this)
    if text.isdecimal() and int(text) < LARGEST:
        return Const(int(text), "int" if int(text) < LARGEST_INT else "bigint")
    if "e" in text.lower():
        return Const(float(text), "double")
    if text.replace(".", "", 1).isdecimal():
        return Const(text, DECIMAL)
    raise NotPlainError


def _negative(node: exp.Neg, scope: Scope) -> Value:
    found = value_of(node.this, scope)
    match found:
        case Const(int(number), type_) if type_ in WHOLE and number != LARGEST_INT:
            return Const(-number, type_)
        case Const(float(number), "double"):
            return Const(-number, "double")
        case Const(str(text), "decimal") if not text.startswith("-"):
            return Const(f"-{text}", DECIMAL)
        case Ref() | Param() | Call() if found.type in (*WHOLE, "double"):
            return Call("negate", (found,), found.type)
        case _:
            raise NotPlainError


def _arithmetic(name: str) -> Reader:
    def read(node: exp.Binary, scope: Scope) -> Value:
        args = alike(value_of(node.this, scope), value_of(node.expression, scope))
        type_ = args[0].type
        if type_ not in (*WHOLE, "double"):
            raise NotPlainError
        return Call(name, args, type_)

    return read


def _quotient(node: exp.Div, scope: Scope) -> Value:
    args = [value_of(each, scope) for each in (node.this, node.expression)]
    if any(each.type == DECIMAL for each in args) and all(e.type != "double" for e in args):
        raise NotPlainError
    return Call("divide", tuple(coerced(each, "double") for each in args), "double")


def _whole(name: str) -> Reader:
    def read(node: exp.Binary, scope: Scope) -> Value:
        args = alike(value_of(node.this, scope), value_of(node.expression, scope))
        return _of_whole(name, args, "bigint" if name == "div" else args[0].type)

    return read


def _of_whole(name: str, args: tuple[Value, ...], type_: str) -> Value:
    if args[0].type not in WHOLE:
        raise NotPlainError
    return Call(name, tuple(coerced(each, type_) for each in args), type_)


def _comparison(name: str) -> Reader:
    def read(node: exp.Binary, scope: Scope) -> Value:
        return _compared(name, value_of(node.this, scope), value_of(node.expression, scope))

    return read


def _compared(name: str, *sides: Value) -> Value:
    args = alike(*sides)
    if args[0].type not in ORDERED:
        raise NotPlainError
    return Call(name, args, "boolean")


def _logic(name: str) -> Reader:
    def read(node: exp.Binary, scope: Scope) -> Value:
        args = condition_of(node.this, scope), condition_of(node.expression, scope)
        return Call(name, args, "boolean")

    return read


def _between(node: exp.Between, scope: Scope) -> Value:
    asked = value_of(node.this, scope)
    low, high = value_of(node.args["low"], scope), value_of(node.args["high"], scope)
    if node.args.get("symmetric"):
        raise NotPlainError
    bounds = _compared("greater_equal", asked, low), _compared("less_equal", asked, high)
    return Call("and", bounds, "boolean")


def _among(node: exp.In, scope: Scope) -> Value:
    if not node.expressions or node.args.get("query") or node.args.get("unnest"):
        raise NotPlainError
    asked = value_of(node.this, scope)
    values = [value_of(each, scope) for each in _few(node.expressions)]
    common_type(asked.type, *(each.type for each in values))
    found = _compared("equal", asked, values[0])
    for each in values[1:]:
        found = Call("or", (found, _compared("equal", asked, each)), "boolean")
    return found


def _few(nodes: Sequence[exp.Expr]) -> Sequence[exp.Expr]:
    """Return what becomes a chain of calls, each inside the next; Spark looks many up at once."""
    if len(nodes) > MOST_CHAINED:
        raise NotPlainError
    return nodes


def _is(node: exp.Is, scope: Scope) -> Value:
    if not isinstance(node.expression, exp.Null):
        raise NotPlainError
    return Call("is_null", (value_of(node.this, scope),), "boolean")


def _case(node: exp.Case, scope: Scope) -> Value:
    if node.this is not None:
        raise NotPlainError
    arms = [(condition_of(e.this, scope), e.args["true"]) for e in _few(node.args["ifs"])]
    return _chosen(arms, node.args.get("default"), scope)


def _if(node: exp.If, scope: Scope) -> Value:
    arms = [(condition_of(node.this, scope), node.args["true"])]
    return _chosen(arms, node.args.get("false"), scope)


def _chosen(
    arms: Sequence[tuple[Value, exp.Expr]], default: exp.Expr | None, scope: Scope
) -> Value:
    """Return the value of the first arm whose condition holds; NULL without a default."""
    nodes = [each for _, each in arms] + ([] if default is None else [default])
    known = [value_of(each, scope) for each in nodes if not isinstance(each, exp.Null)]
    type_ = common_type(*(each.type for each in known)) if known else ""
    if type_ not in ORDERED:
        raise NotPlainError
    values = iter(known)
    filled = [
        Const(None, type_) if isinstance(each, exp.Null) else coerced(next(values), type_)
        for each in nodes
    ]
    found = filled[-1] if default is not None else Const(None, type_)
    for (condition, _), each in zip(reversed(arms), reversed(filled[: len(arms)]), strict=True):
        found = Call("if", (condition, each, found), type_)
    return found


def _several(name: str) -> Reader:
    def read(node: exp.Expr, scope: Scope) -> Value:
        args = alike(*(value_of(each, scope) for each in (node.this, *node.expressions)))
        if args[0].type not in ORDERED:
            raise NotPlainError
        return Call(name, args, args[0].type)

    return read


def _nullif(node: exp.Nullif, scope: Scope) -> Value:
    asked = value_of(node.this, scope)
    same = _compared("equal", asked, value_of(node.expression, scope))
    return Call("if", (same, Const(None, asked.type), asked), asked.type)


def _cast(node: exp.Cast, scope: Scope) -> Value:
    type_ = TYPES.get(node.to.this)
    if type_ is None or node.args.get("format") or node.to.expressions:
        raise NotPlainError
    if isinstance(node.this, exp.Null):
        return Const(None, type_)
    found = value_of(node.this, scope)
    if found.type == "double" and type_ in WHOLE:
        return Call("truncate", (found,), type_)
    return _as_text(found) if type_ == "string" else coerced(found, type_)


def _as_text(value: Value) -> Value:
    return Call("text", (value,), "string") if value.type in WHOLE else coerced(value, "string")


def _rounded(node: exp.Round, scope: Scope) -> Value:
    given = node.args.get("decimals")
    digits = Const(0, "int") if given is None else value_of(given, scope)
    found = value_of(node.this, scope)
    match digits:
        case Const(int(places), "int") if found.type == "double" and 0 <= places <= MOST_DIGITS:
            return Call("round", (found, digits), "double")
        case _:
            raise NotPlainError


def _to_whole(name: str) -> Reader:
    def read(node: exp.Expr, scope: Scope) -> Value:
        if node.args.get("decimals") is not None or node.args.get("to") is not None:
            raise NotPlainError
        found = value_of(node.this, scope)
        if found.type != "double":
            raise NotPlainError
        return Call(name, (found,), "bigint")

    return read


def _one(name: str, takes: Sequence[str], gives: str = "") -> Reader:
    def read(node: exp.Expr, scope: Scope) -> Value:
        return _called(name, [value_of(node.this, scope)], takes, gives)

    return read


def _called(name: str, args: Sequence[Value], takes: Sequence[str], gives: str = "") -> Value:
    if any(each.type not in takes for each in args):
        raise NotPlainError
    return Call(name, tuple(args), gives or args[0].type)


def _part(node: exp.Substring | exp.Left, scope: Scope) -> Value:
    """Read a part of a text that begins and ends at stated places."""
    text = value_of(node.this, scope)
    first: Value = Const(1, "int")
    given = node.expression if isinstance(node, exp.Left) else node.args.get("length")
    if isinstance(node, exp.Substring):
        first = value_of(node.args["start"], scope)
    count = Const(LARGEST_INT - 1, "int") if given is None else value_of(given, scope)
    match first, count:
        case Const(int(place), "int"), Const(int(), "int") if text.type == "string" and place > 0:
            return Call("substring", (text, first, count), "string")
        case _:
            raise NotPlainError


def _joined(node: exp.Concat, scope: Scope) -> Value:
    args = [_as_text(value_of(each, scope)) for each in node.expressions]
    return _called("concat", args, ("string",))


def _piped(node: exp.DPipe, scope: Scope) -> Value:
    args = [_as_text(value_of(each, scope)) for each in (node.this, node.expression)]
    return _called("concat", args, ("string",))


def _array(node: exp.Array, scope: Scope) -> Value:
    args = alike(*(value_of(each, scope) for each in node.expressions))
    if not args or any(not isinstance(each, Const | Param) for each in args):
        raise NotPlainError
    return Call("array", args, f"array<{args[0].type}>")


def _anonymous(node: exp.Anonymous, scope: Scope) -> Value:
    name, args = str(node.this).lower(), node.expressions
    if name == PARAM and len(args) == 1:
        return Param(int(args[0].this))
    values = [value_of(each, scope) for each in args]
    types = [each.type for each in values]
    match name, types:
        case "pmod", [_, _]:
            both = alike(*values)
            return _of_whole("pmod", both, both[0].type)
        case "timestamp_micros", [one] if one in WHOLE:
            return Call(name, (coerced(values[0], "bigint"),), "timestamp")
        case "xxhash64", [_, *_] if all(each == "bigint" for each in types):
            return Call(name, tuple(values), "bigint")
        case "shiftrightunsigned", ["bigint", "int"]:
            return Call(name, tuple(values), "bigint")
        case "get", [array, _] if array.startswith("array<") and types[1] in WHOLE:
            return _at(name, *values)
        case _:
            raise NotPlainError


def _element(node: exp.Bracket, scope: Scope) -> Value:
    """Read element_at of an array of literals."""
    if node.args.get("offset") != 1 or len(node.expressions) != 1:
        raise NotPlainError
    array, place = value_of(node.this, scope), value_of(node.expressions[0], scope)
    if not array.type.startswith("array<") or place.type not in WHOLE:
        raise NotPlainError
    return _at("element_at", array, place)


def _at(name: str, array: Value, place: Value) -> Value:
    return Call(name, (array, coerced(place, "bigint")), array.type[len("array<") : -1])


def _searched(node: exp.Expr, scope: Scope) -> Value:
    """Return how many of an array's values are less than another: `Buckets.search_sql`."""
    less, merge = node.find(exp.LT), node.args.get("merge")
    array = less.this.expressions[0] if less and less.this.expressions else None
    if less is None or not isinstance(array, exp.Array) or not isinstance(merge, exp.Lambda):
        raise NotPlainError
    names = [each.name for each in merge.expressions]
    if node != parse_one(_search_sql(array, less.expression, names), read="spark"):
        raise NotPlainError
    values, asked = value_of(array, scope), value_of(less.expression, scope)
    if values.type != f"array<{asked.type}>" and asked.type not in WHOLE:
        raise NotPlainError
    return Call("count_less", (values, coerced(asked, values.type[len("array<") : -1])), "int")


def _search_sql(array: exp.Expr, asked: exp.Expr, names: Sequence[str]) -> str:
    place, step = names
    steps, size = [], 1
    while size <= len(array.expressions):
        steps.append(str(size))
        size *= 2
    values, column = array.sql(dialect="spark"), asked.sql(dialect="spark")
    further = f"IF(get({values}, {place} + {step} - 1) < {column}, {place} + {step}, {place})"
    halves = f"array({', '.join(reversed(steps))})"
    return f"aggregate({halves}, 0, ({place}, {step}) -> {further})"


READERS: dict[type, Reader] = {
    exp.Column: lambda node, scope: scope.find(node),
    exp.Paren: lambda node, scope: value_of(node.this, scope),
    exp.Literal: _literal,
    exp.Boolean: lambda node, _: Const(bool(node.this), "boolean"),
    exp.Neg: _negative,
    exp.Add: _arithmetic("add"),
    exp.Sub: _arithmetic("subtract"),
    exp.Mul: _arithmetic("multiply"),
    exp.Div: _quotient,
    exp.IntDiv: _whole("div"),
    exp.Mod: _whole("mod"),
    exp.BitwiseAnd: _whole("bit_and"),
    exp.EQ: _comparison("equal"),
    exp.NEQ: _comparison("not_equal"),
    exp.LT: _comparison("less"),
    exp.LTE: _comparison("less_equal"),
    exp.GT: _comparison("greater"),
    exp.GTE: _comparison("greater_equal"),
    exp.NullSafeEQ: _comparison("same"),
    exp.And: _logic("and"),
    exp.Or: _logic("or"),
    exp.Not: lambda node, scope: Call("not", (condition_of(node.this, scope),), "boolean"),
    exp.Between: _between,
    exp.In: _among,
    exp.Is: _is,
    exp.Case: _case,
    exp.If: _if,
    exp.Coalesce: _several("coalesce"),
    exp.Greatest: _several("greatest"),
    exp.Least: _several("least"),
    exp.Nullif: _nullif,
    exp.Cast: _cast,
    exp.TryCast: _cast,
    exp.Round: _rounded,
    exp.Floor: _to_whole("floor"),
    exp.Ceil: _to_whole("ceil"),
    exp.Abs: _one("abs", (*WHOLE, "double")),
    exp.Substring: _part,
    exp.Left: _part,
    exp.Length: _one("length", ("string",), "int"),
    exp.UnixMicros: _one("unix_micros", ("timestamp",), "bigint"),
    exp.Concat: _joined,
    exp.DPipe: _piped,
    exp.Array: _array,
    exp.Bracket: _element,
    exp.Anonymous: _anonymous,
    exp.Reduce: _searched,
}
