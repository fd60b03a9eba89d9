"""What a source of a table must do."""

from typing import Protocol

import pyarrow as pa

# What stands there, told without reading it: names with sizes and times, or a stamp.
Seen = tuple[tuple[str, int, int], ...]


class TableSource(Protocol):
    """One table's rows, elsewhere. `read` belongs to workers, the rest to the supervisor."""

    def seen(self) -> Seen:
        """Return what would be different if the rows had changed; quick, and raises nothing."""
        ...

    def read(self) -> pa.Table:
        """Return the rows as they are now, or raise what is wrong."""
        ...

    def close(self) -> None:
        """Release what is held between two readings."""
        ...
