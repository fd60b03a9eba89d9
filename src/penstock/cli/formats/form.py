"""What a format of results must do."""

from collections.abc import Callable
from typing import Protocol

import pyarrow as pa

Width = Callable[[], int | None]  # the columns of the terminal now; None where there is none


class Format(Protocol):
    """Turns results into UTF-8; one of its own for each run. Called by one thread at a time."""

    def rows(self, query: str, rows: pa.Table) -> bytes:
        """Return result rows of a standing query."""
        ...

    def table(self, statement: str, rows: pa.Table) -> bytes:
        """Return the rows that a statement such as SHOW or SELECT gave."""
        ...

    def text(self, statement: str, text: str) -> bytes:
        """Return the text that a statement such as EXPLAIN gave."""
        ...
