"""What a database of either kind does for who keeps something in it."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol


class Done(Protocol):
    """What came of a statement."""

    @property
    def rowcount(self) -> int:
        """Return how many rows it has changed."""
        ...


class SqlDatabase(Protocol):
    """Statements with `?` or `?1` where values go; safe in many threads of one process."""

    def rows(self, statement: str, *values: Any) -> list[Any]:
        """Return all rows that a statement gives."""
        ...

    def number(self, statement: str, *values: Any) -> int:
        """Return the first value of a SELECT; 0 where there is none."""
        ...

    def execute(self, statement: str, *values: Any) -> Done:
        """Run one statement; outside of a transaction it is one of its own."""
        ...

    def execute_all(self, statement: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Run one statement for each row; only inside a transaction."""
        ...

    def transaction(self, *, to_disk: bool = False) -> AbstractContextManager[None]:
        """Do all of the block, or none of it where it raises; other threads wait meanwhile.

        Inside another one it is a part of that: it may be taken back alone. With `to_disk` the
        whole outlives a power cut.
        """
        ...

    def close(self) -> None:
        """Close it; what was acknowledged is there."""
        ...
