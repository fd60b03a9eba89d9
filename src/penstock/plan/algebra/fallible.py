"""Which expressions can fail for a tuple, and so may stand behind the conditions that guard them.

Spark's SQL is ANSI: a division by zero, a cast of a text that is no number or an index beyond an
array stops the run. The judgement is cautious: what is not known to be safe can fail.
"""

import re
from datetime import datetime

from sqlglot import exp

from penstock.model.schema import Schema

PLAIN = (exp.Column, exp.Dot, exp.Identifier, exp.Literal, exp.Boolean, exp.Null)
JOINED = (exp.And, exp.Or, exp.Not, exp.Paren, exp.Tuple, exp.Is)
COMPARED = (
    exp.EQ,
    exp.NEQ,
    exp.NullSafeEQ,
    exp.NullSafeNEQ,
    exp.GT,
    exp.GTE,
    exp.LT,
    exp.LTE,
    exp.Between,
)
MOMENT = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d:\d\d(\.\d{1,6})?)?")
TEXTS = ("string", "char", "varchar")


def can_fail(node: exp.Expr, schema: Schema | None = None) -> bool:
    """Say whether the expression may fail for some tuple instead of giving a value.

    Comparisons, IS, IN, LIKE and what AND, OR and NOT make of them cannot, over columns and
    literals. With the `schema` of these columns, neither may a text be compared with a number:
    Spark casts it.
    """
    return any(_may(each, schema) for each in node.walk(prune=_is_moment))


def _may(node: exp.Expr, schema: Schema | None) -> bool:
    if isinstance(node, PLAIN + JOINED):
        return False
    if isinstance(node, COMPARED):
        return _casts(list(node.iter_expressions()), schema)
    if isinstance(node, exp.In):
        listed = {name for name, given in node.args.items() if given} <= {"this", "expressions"}
        return not listed or _casts([node.this, *node.expressions], schema)
    if isinstance(node, exp.Like | exp.ILike):  # a pattern may end in the middle of an escape
        pattern = node.expression
        return not (isinstance(pattern, exp.Literal) and "\\" not in pattern.this)
    if isinstance(node, exp.Neg):
        return not isinstance(node.this, exp.Literal)
    return not _is_moment(node)


def _casts(operands: list[exp.Expr], schema: Schema | None) -> bool:
    """Say whether Spark has to make another type of a column that is text."""
    if schema is None:
        return False
    kinds = [_kind(each, schema) for each in operands]
    is_text_column = any(
        kind == "text" and not isinstance(each.unnest(), exp.Literal)
        for kind, each in zip(kinds, operands, strict=True)
    )
    return is_text_column and "other" in kinds


def _kind(node: exp.Expr, schema: Schema) -> str:
    node = node.unnest()
    if isinstance(node, exp.Literal):
        return "text" if node.is_string else "other"
    if isinstance(node, exp.Neg | exp.Boolean) or _is_moment(node):
        return "other"
    found = schema.find(node.name) if isinstance(node, exp.Column) else None
    if found is None:
        return "unknown"
    return "text" if found.type.lower().startswith(TEXTS) else "other"


def _is_moment(node: exp.Expr) -> bool:
    """Say whether this is a DATE or TIMESTAMP literal that can be read."""
    if not (isinstance(node, exp.Cast) and isinstance(node.this, exp.Literal)):
        return False
    if not node.to.is_type("date", "timestamp", "timestampntz", "timestamptz", "timestampltz"):
        return False
    if not MOMENT.fullmatch(node.this.this):
        return False
    try:
        datetime.fromisoformat(node.this.this)
    except ValueError:
        return False
    return True
