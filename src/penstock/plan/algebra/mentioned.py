"""Which columns of an input SQL expressions speak of."""

from collections.abc import Iterable

from sqlglot import exp

from penstock.model.schema import Schema
from penstock.sql import parse_select


def mentioned(texts: Iterable[str], schema: Schema) -> tuple[str, ...]:
    """Return the columns of the schema that the expressions need, in the schema's order."""
    tree = parse_select(f"SELECT {', '.join(['1', *texts])}")
    names = {column.parts[0].name.lower() for column in tree.find_all(exp.Column)}
    return tuple(name for name in schema.names if name.lower() in names)
