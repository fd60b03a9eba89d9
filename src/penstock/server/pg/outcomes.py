"""What a statement came to, before it is told in messages."""

from dataclasses import dataclass
from typing import TypeAlias

from penstock.server.pg.rows import Cursor
from penstock.server.pg.text.statements import CopyOut


@dataclass(frozen=True, slots=True)
class Done:
    """It is done; `notices` are pairs of a severity and what there is to know."""

    tag: str
    notices: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Rows:
    """It gives rows, at most so many; the tag gets their count where it has a place for it.

    `closes` says that the rows are over with the statement, rather than a cursor's of its own.
    """

    cursor: Cursor
    tag: str = "SELECT {}"
    most: int | None = None
    closes: bool = True


@dataclass(frozen=True, slots=True)
class Copied:
    """It gives rows as COPY formats them."""

    cursor: Cursor
    how: CopyOut


def close(outcome: "Outcome | None") -> None:
    """Let rows go that belong to a statement alone."""
    if isinstance(outcome, Copied) or (isinstance(outcome, Rows) and outcome.closes):
        outcome.cursor.close()


Outcome: TypeAlias = Done | Rows | Copied
