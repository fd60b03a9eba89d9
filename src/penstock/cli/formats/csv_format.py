"""`--format csv`: lines that begin with the query's name, a heading once a query."""

import pyarrow as pa

from penstock.engine.sinks.csv_text import csv_text


class CsvFormat:
    """Rows of one query have one heading; a statement's rows have their own and no name."""

    def __init__(self) -> None:
        self._headed: set[str] = set()

    def rows(self, query: str, rows: pa.Table) -> bytes:
        names = pa.array([query], pa.string()).take(pa.array([0] * rows.num_rows, pa.int8()))
        named = rows.add_column(0, "query", names)
        header = query not in self._headed
        self._headed.add(query)
        return csv_text(named, header=header)

    def table(self, statement: str, rows: pa.Table) -> bytes:
        return csv_text(rows)

    def text(self, statement: str, text: str) -> bytes:
        return f"{text}\n".encode()
