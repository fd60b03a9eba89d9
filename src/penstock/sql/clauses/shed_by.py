"""SHED BY: what a tuple is worth, so that the least goes first."""

import re

from penstock.errors import BadQueryError, Place
from penstock.sql.dialect.conditions import PARTS, find_part
from penstock.sql.dialect.printable import settled
from penstock.sql.dialect.reader import TokenReader
from penstock.sql.dialect.refusals import place_within
from penstock.sql.dialect.trees import spark_sql

SHED_BY = re.compile(r"\bSHED\s+BY\b", re.IGNORECASE)


def read_shed_by(reader: TokenReader) -> str:
    """Read what follows SHED, and return it as Spark SQL."""
    reader.expect("BY", hint="SHED BY price")
    with reader.placed(reader.token):
        worth = settled(reader.value("an expression"), lambda again: again.value("an expression"))
        if (part := find_part(worth, *PARTS)) is not None:
            raise BadQueryError(
                f"{part} stands in what a single tuple is worth",
                hint="SHED BY takes a number of the stream's own columns: SHED BY abs(price - 100)",
            )
    return spark_sql(worth)


def place_of_shed_by(text: str, begin: Place) -> Place:
    """Return where SHED BY stands in a statement: after everything that could hold its words."""
    *_, last = (found.start() for found in SHED_BY.finditer(text))
    return place_within(begin, text, last)
