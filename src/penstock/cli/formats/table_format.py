"""`--format table`: aligned text, a block for each delivery."""

from collections.abc import Iterator

import pyarrow as pa
from rich.cells import cell_len

from penstock.cli.formats.form import Width
from penstock.engine.sinks.table_text import table_text

BETWEEN = 3  # what stands between two columns


class TableFormat:
    """Blocks for people; each is followed by an empty line."""

    def __init__(self, width: Width = lambda: None) -> None:
        self._width = width

    def rows(self, query: str, rows: pa.Table) -> bytes:
        return f"{query}\n{fitted(rows, self._width())}\n".encode()

    def table(self, statement: str, rows: pa.Table) -> bytes:
        return f"{fitted(rows, self._width())}\n".encode()

    def text(self, statement: str, text: str) -> bytes:
        return f"{text}\n\n".encode()


def fitted(rows: pa.Table, width: int | None) -> str:
    """Return the table as text; one that is too wide becomes several, one below the other."""
    if width is None:
        return table_text(rows)
    return "\n".join(table_text(rows.select(columns)) for columns in _cut(rows, width))


def _cut(rows: pa.Table, width: int) -> Iterator[list[int]]:
    """Yield the columns of each part; the first column is in all of them, to know the rows by."""
    widths = [text_width(table_text(rows.select([place]))) for place in range(rows.num_columns)]
    part, taken = [0], widths[0]
    for place in range(1, len(widths)):
        if len(part) > 1 and taken + BETWEEN + widths[place] > width:
            yield part
            part, taken = [0], widths[0]
        part.append(place)
        taken += BETWEEN + widths[place]
    yield part


def text_width(text: str) -> int:
    """Return the columns that the widest line takes."""
    return max(cell_len(line) for line in text.splitlines())
