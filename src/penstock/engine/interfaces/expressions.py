"""The generator's columns as Spark expressions over a tuple's number, time and random numbers."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - its name everywhere

from penstock.engine.interfaces.frames import SPARK_FAILURES
from penstock.engine.spark.repeatable import refuse_calls, refuse_changing
from penstock.engine.spark.spark_errors import CONDITIONS, analysis_error, condition_of, sentence
from penstock.errors import (
    BadOptionError,
    NotAllowedError,
    NotRepeatableError,
    PenstockError,
    UnknownColumnError,
    UnknownFunctionError,
)
from penstock.model.definitions import Expression, Option
from penstock.model.own_names import own
from penstock.model.schema import Column, quoted

NUMBERS = own("numbers")
LARGEST = 2**31  # of a literal that is an INT in Spark as well
RANDOMS = 8  # u1 … u8
U = re.compile(rf"\bu([1-{RANDOMS}])\b", re.IGNORECASE)
# 53 bits of a hash as a fraction, as Java and Python make theirs.
RANDOM = "shiftrightunsigned(xxhash64(n, {place}L, {seed}L), 11) * 1.1102230246251565E-16D"
IN_REACH = f"n, ts and u1 to u{RANDOMS}"

HINTS: dict[type[PenstockError], str] = {
    UnknownColumnError: f"there is {IN_REACH}",
    UnknownFunctionError: "the functions are those of Spark SQL",
    BadOptionError: "an option's value is a literal or one Spark SQL expression",
}


def randoms_in(options: Iterable[Option]) -> tuple[int, ...]:
    """Return which of u1 … u8 the expressions may name; each one costs planning time."""
    texts = [option.sql for option in options if isinstance(option, Expression)]
    return tuple(sorted({int(found[1]) for text in texts for found in U.finditer(text)}))


def with_randoms(numbers: DataFrame, places: Iterable[int], seed: int) -> DataFrame:
    """Add random numbers in [0, 1) that depend on the seed, their place and n alone."""
    randoms = [F.expr(RANDOM.format(place=place, seed=seed)).alias(f"u{place}") for place in places]
    return numbers.select("n", "ts", *randoms)


def as_column(column: Column, option: Option) -> SparkColumn:
    """Return an option's value as the column: SQL where no literal stands, else the literal."""
    value = F.expr(option.sql) if isinstance(option, Expression) else F.lit(option)
    return value.cast(column.type).alias(column.name)


def as_sql(columns: Sequence[tuple[Column, Option]], places: Iterable[int], seed: int) -> str:
    """Return the SELECT of all columns over a view of numbers, or nothing where it is not plain."""
    values = [(column, _text(option)) for column, option in columns]
    if any(text is None for _, text in values):
        return ""
    shown = ", ".join(f"CAST({text} AS {c.type}) AS {quoted(c.name)}" for c, text in values)
    randoms = [f"{RANDOM.format(place=place, seed=seed)} AS u{place}" for place in places]
    return f"SELECT {shown} FROM (SELECT {', '.join(['n', 'ts', *randoms])} FROM {NUMBERS})"


def _text(option: Option) -> str | None:
    if isinstance(option, Expression):
        return f"({option.sql})"
    is_plain = isinstance(option, int) and not isinstance(option, bool) and 0 <= option < LARGEST
    return str(option) if is_plain else None


def check_expression(numbers: DataFrame, column: Column, option: Option) -> None:
    """Raise what is wrong with a column's expression, without running it."""
    try:
        frame = numbers.select(as_column(column, option))
        plan: Any = frame._jdf.queryExecution().analyzed()
        node, names = plan, set[str]()
        while node.children().size() == 1:
            names.add(node.nodeName())
            node = node.children().head()
    except SPARK_FAILURES as error:
        raise _told(column, error) from error
    if names != {"Project"}:
        raise BadOptionError(
            f"option {column.name} of generator must give one value from one tuple",
            hint="aggregates and window functions belong in a query",
        )
    try:
        refuse_calls(option.sql if isinstance(option, Expression) else "")
        refuse_changing(frame)
    except NotRepeatableError as error:
        error.message = f"option {column.name} of generator: {error.message}"
        error.hint = f"use u1 to u{RANDOMS} for random numbers in [0, 1), and ts for the time"
        raise


def _told(column: Column, error: Exception) -> PenstockError:
    if isinstance(found := analysis_error(error), NotAllowedError):
        return found
    condition = condition_of(error)
    kind = next((kind for start, kind in CONDITIONS if condition.startswith(start)), BadOptionError)
    hint = HINTS.get(kind, f"the column is {column.type.upper()}")
    return kind(f"option {column.name} of generator: {sentence(error)}", hint=hint)
