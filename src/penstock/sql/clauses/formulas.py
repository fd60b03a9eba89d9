"""Formulas of convert(…) and merge(…): an SQL expression over the numbers of cells."""

from collections.abc import Mapping
from functools import reduce
from typing import Any

from sqlglot import exp

from penstock.errors import (
    BadGridError,
    PenstockError,
    UnknownColumnError,
    UnknownFunctionError,
    shortened,
)
from penstock.model.grids import Constant, Formula, Operation, Variable
from penstock.sql.dialect.reader import TokenReader
from penstock.sql.dialect.refusals import near_miss, place_at
from penstock.sql.dialect.trees import to_sql

BINARY: dict[type[exp.Expr], str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.And: "and",
    exp.Or: "or",
}
ARITIES = {
    **dict.fromkeys(
        ("abs", "sqrt", "exp", "ln", "log10", "floor", "ceil", "round", "sin", "cos", "tan"), (1, 1)
    ),
    **dict.fromkeys(("radians", "degrees"), (1, 1)),
    **dict.fromkeys(("nullif", "power", "atan2"), (2, 2)),
    **dict.fromkeys(("coalesce", "least", "greatest"), (1, 99)),
}
SYNONYMS = {"pow": "power", "ceiling": "ceil"}
NUMBERS = ("DOUBLE", "FLOAT")
Names = Mapping[str, str]


def read_formula(reader: TokenReader, names: Names) -> Formula:
    """Read a formula; `names` are its variables as they may be written, in lower case."""
    token = reader.token
    tree = reader.value("a formula")
    try:
        return _formula(tree, names)
    except PenstockError as error:
        starts = [each.meta["start"] for each in _misread(tree, error) if "start" in each.meta]
        error.place = place_at(reader.sql, min(starts, default=token.start))
        raise


class _At(Exception):  # noqa: N818  (it carries a node to who knows the text)
    """Where an error belongs."""


def _misread(tree: exp.Expr, error: PenstockError) -> list[exp.Expr]:
    node = error.__cause__.args[0] if isinstance(error.__cause__, _At) else tree
    return list(node.walk())


def _formula(node: exp.Expr, names: Names) -> Formula:
    def of(each: Any) -> Formula:
        return _formula(each, names)

    match node:
        case exp.Paren():
            return of(node.this)
        case exp.Null():
            return Constant(None)
        case exp.Boolean():
            return Constant(float(node.this))
        case exp.Literal(is_string=False):
            return Constant(float(node.this))
        case exp.Column():
            return _variable(node, names)
        case exp.Neg():
            return Operation("negative", (of(node.this),))
        case exp.Not():
            return Operation("not", (of(node.this),))
        case exp.Is() if isinstance(node.expression, exp.Null):
            return Operation("is null", (of(node.this),))
        case exp.Between():
            value, low, high = of(node.this), of(node.args["low"]), of(node.args["high"])
            return Operation("and", (Operation(">=", (value, low)), Operation("<=", (value, high))))
        case exp.In() if node.expressions:
            value = of(node.this)
            equal = [Operation("=", (value, of(each))) for each in node.expressions]
            return reduce(lambda a, b: Operation("or", (a, b)), equal)
        case exp.Cast() if str(node.to) in NUMBERS:
            return of(node.this)
        case exp.Case() | exp.If():
            return _case(node, names)
        case exp.Anonymous():
            return _call(node, names)
        case _ if type(node) in BINARY:
            return Operation(BINARY[type(node)], (of(node.this), of(node.expression)))
        case _:
            raise BadGridError(
                f"{shortened(to_sql(node))} has no place in a formula over cells",
                hint="arithmetic, comparisons, CASE, and functions such as abs, sqrt, nullif",
            ) from _At(node)


def _variable(column: exp.Column, names: Names) -> Formula:
    written = ".".join(part.name for part in column.parts)
    if (name := names.get(written.lower())) is None:
        known = ", ".join(names.values())
        hint = near_miss(written, [*names.values()]) or f"there is {known}"
        raise UnknownColumnError(f"a formula here has no {written}", hint=hint) from _At(column)
    return Variable(name)


def _case(node: exp.Expr, names: Names) -> Formula:
    whens = [node] if isinstance(node, exp.If) else node.args["ifs"]
    subject = node.this if isinstance(node, exp.Case) else None
    arguments: list[Formula] = []
    for when in whens:
        condition = _formula(when.this, names)
        if subject is not None:
            condition = Operation("=", (_formula(subject, names), condition))
        arguments += [condition, _formula(when.args["true"], names)]
    otherwise = node.args.get("false") or node.args.get("default")
    arguments.append(Constant(None) if otherwise is None else _formula(otherwise, names))
    return Operation("case", tuple(arguments))


def _call(node: exp.Anonymous, names: Names) -> Formula:
    name = SYNONYMS.get(node.name.lower(), node.name.lower())
    if name not in ARITIES:
        hint = near_miss(name, [*ARITIES]) or f"one of {', '.join(sorted(ARITIES))}"
        raise UnknownFunctionError(f"no function {name} over cells", hint=hint) from _At(node)
    least, most = ARITIES[name]
    if not least <= len(node.expressions) <= most:
        count = str(least) if least == most else f"at least {least}"
        raise BadGridError(f"{name} takes {count} values") from _At(node)
    return Operation(name, tuple(_formula(each, names) for each in node.expressions))
