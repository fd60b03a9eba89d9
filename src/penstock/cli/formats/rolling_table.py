"""Rows of one query as they come, below one heading: what `.watch` shows."""

import pyarrow as pa

from penstock.cli.formats.table_format import TableFormat, text_width
from penstock.engine.sinks.table_text import table_text

HEADING_LINES = 2  # the names, and the rule below them
REPEAT_ROWS = 20  # by then the heading has gone up the screen


class RollingTable(TableFormat):
    """Writes the heading again only where the columns' widths have changed, or it is far up."""

    _heading: list[str] | None = None
    _since = 0

    def rows(self, query: str, rows: pa.Table) -> bytes:
        text = table_text(rows)
        width = self._width()
        if width is not None and text_width(text) > width:
            return super().rows(query, rows)
        lines = text.splitlines()
        heading, body = lines[:HEADING_LINES], lines[HEADING_LINES:]
        if heading == self._heading and self._since < REPEAT_ROWS:
            self._since += len(body)
            return ("\n".join(body) + "\n").encode()
        self._heading, self._since = heading, len(body)
        return text.encode()
