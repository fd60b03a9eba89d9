"""Arrow tables as aligned text for a terminal."""

import re

import pyarrow as pa
from rich.cells import cell_len, set_cell_size

from penstock.engine.sinks.csv_text import cell_text
from penstock.engine.sinks.json_lines import is_bare
from penstock.engine.trains.vectors import shown

WIDEST = 60  # columns of a terminal that one cell may take; the rest of it is cut off
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")  # a cell must not steer the terminal


def table_text(table: pa.Table) -> str:
    """Return a heading and one line a row; numbers stand to the right, nulls are NULL."""
    table = shown(table)
    columns = [
        _column(name, column)
        for name, column in zip(table.schema.names, table.columns, strict=True)
    ]
    heading, *rows = zip(*columns, strict=True)
    rule = "-+-".join("-" * cell_len(cell) for cell in heading)
    return "".join(f"{line}\n" for line in [_line(heading), rule, *map(_line, rows)])


def _line(cells: tuple[str, ...]) -> str:
    return " | ".join(cells).rstrip()


def _column(name: str, values: pa.ChunkedArray) -> list[str]:
    texts = [text for chunk in values.chunks for text in cell_text(chunk).to_pylist()]
    cells = [_shown(name), *("NULL" if text is None else _shown(text) for text in texts)]
    width = max(cell_len(cell) for cell in cells)
    if is_bare(values.type):
        return [" " * (width - cell_len(cell)) + cell for cell in cells]
    return [cell + " " * (width - cell_len(cell)) for cell in cells]


def _shown(text: str) -> str:
    one_line = CONTROL.sub(lambda found: repr(found[0])[1:-1], text)
    if cell_len(one_line) <= WIDEST:
        return one_line
    return set_cell_size(one_line, WIDEST - 1) + "…"
