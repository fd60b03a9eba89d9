"""One row of a query's results, as its readers see it."""

from collections.abc import Iterator, Mapping
from typing import Any

Position = tuple[int, int]  # a delivery's number, and the row's index in it
START: Position = (0, 0)  # before the first row: deliveries count from one


class ResultRow(Mapping[str, Any]):
    """A mapping from column to value; `position` is where to resume after it."""

    __slots__ = ("_values", "position", "query")

    def __init__(self, query: str, position: Position, values: dict[str, Any]) -> None:
        self.query = query
        self.position = position
        self._values = values

    def __getitem__(self, column: str) -> Any:
        return self._values[column]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"ResultRow({self.query!r}, {self.position}, {self._values})"

    def as_dict(self) -> dict[str, Any]:
        """Return the values as a dict of the caller's own."""
        return dict(self._values)
