"""`--format table`: aligned text, a block for each delivery."""

import pyarrow as pa

from penstock.engine.sinks.table_text import table_text


class TableFormat:
    """Blocks for people; each is followed by an empty line."""

    def rows(self, query: str, rows: pa.Table) -> bytes:
        return f"{query}\n{table_text(rows)}\n".encode()

    def table(self, statement: str, rows: pa.Table) -> bytes:
        return f"{table_text(rows)}\n".encode()

    def text(self, statement: str, text: str) -> bytes:
        return f"{text}\n\n".encode()
