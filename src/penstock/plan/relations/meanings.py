"""What the columns that an operator names by itself stand for, so that errors can say it."""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from penstock.errors import PenstockError
from penstock.model.own_names import readable
from penstock.plan.operators import (
    Distinct,
    Filter,
    HopJoin,
    HorvitzThompson,
    Modify,
    ObliviousJoin,
    Operator,
    RowsJoin,
    TableJoin,
    Top,
    WindowJoin,
)
from penstock.plan.operators.windows.grouping_sets import SET

Meanings = dict[str, str]


def meanings(operator: Operator) -> Meanings:
    """Return what users would call the columns of an operator whose names they did not choose."""
    match operator:
        case Filter() | Top() | Distinct() | HorvitzThompson() | Modify():
            return meanings(operator.input)
        case TableJoin():
            taken = {out: f"{operator.table}.{name}" for name, out in operator.taken if out != name}
            return meanings(operator.input) | taken
        case WindowJoin():
            return _renamed(pair for side in operator.sides for pair in side.columns)
        case RowsJoin() | HopJoin() | ObliviousJoin():
            return _renamed(pair for each in operator.joined for pair in each.columns)
        case _:
            return _computed(operator)


def told(text: str, operator: Operator) -> str:
    """Return SQL over an operator's columns as users would write it."""
    return readable(worded(text, meanings(operator)))


@contextmanager
def in_words(operator: Operator) -> Iterator[None]:
    """Raise errors that name an operator's columns as users do."""
    try:
        yield
    except PenstockError as error:
        error.message, error.hint = told(error.message, operator), told(error.hint, operator)
        raise


def _renamed(columns: Iterable[tuple[str, str]]) -> Meanings:
    return {out: name for name, out in columns if out != name}


def _computed(operator: Operator) -> Meanings:
    """Return keys and aggregates as they are written."""
    keys = {name: _key(sql) for name, sql in getattr(operator, "keys", ())}
    aggregates = {name: each.text for name, each in getattr(operator, "aggregates", ())}
    below = [each for inner in operator.inputs for each in meanings(inner).items()]
    return {
        name: worded(text, dict(below)).replace("`", "")
        for name, text in (keys | aggregates).items()
    }


def _key(sql: str) -> str:
    if SET not in sql:
        return sql
    return "a grouping set" if sql == SET else "a key"


def worded(text: str, meant: Mapping[str, str]) -> str:
    """Return a text in which names are what they stand for."""
    if not meant:
        return text
    names = "|".join(map(re.escape, sorted(meant, key=len, reverse=True)))
    return re.sub(rf"`?(?<!\w)({names})(?!\w)`?", lambda found: meant[found[1]], text)
