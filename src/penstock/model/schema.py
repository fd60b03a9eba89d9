"""Columns and their types, written as Spark SQL writes them."""

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Column:
    """One named column; `type` is Spark SQL text such as `decimal(10,2)`."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class Schema:
    """Columns in order; names are compared without case, as Spark does."""

    columns: tuple[Column, ...] = ()

    def __iter__(self) -> Iterator[Column]:
        """Walk the columns in order."""
        return iter(self.columns)

    def __len__(self) -> int:
        """Return how many columns there are."""
        return len(self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        """Return the columns' names in order."""
        return tuple(column.name for column in self.columns)

    def find(self, name: str) -> Column | None:
        """Return the column of that name, whatever its case."""
        wanted = name.lower()
        return next((column for column in self.columns if column.name.lower() == wanted), None)

    def ddl(self) -> str:
        """Return the schema as Spark's DDL text."""
        return ", ".join(f"{quoted(column.name)} {column.type}" for column in self.columns)


def quoted(name: str) -> str:
    """Return the name as a Spark SQL identifier that needs no escaping elsewhere."""
    return "`" + name.replace("`", "``") + "`"


def literal(text: str) -> str:
    """Return the text as a Spark SQL string, whatever is in it."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
