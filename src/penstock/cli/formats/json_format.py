"""`--format json`: one object a line, `{"query": "left_turns", "row": {…}}`."""

import json

import pyarrow as pa

from penstock.engine.sinks.json_lines import batches, joined, json_objects


class JsonFormat:
    """Lines that say whose they are: a query's, or a statement's."""

    def rows(self, query: str, rows: pa.Table) -> bytes:
        return _lines("query", query, rows)

    def table(self, statement: str, rows: pa.Table) -> bytes:
        return _lines("statement", statement, rows)

    def text(self, statement: str, text: str) -> bytes:
        line = json.dumps({"statement": statement, "text": text}, ensure_ascii=False)
        return f"{line}\n".encode()


def _lines(kind: str, name: str, rows: pa.Table) -> bytes:
    before = f'{{"{kind}": {json.dumps(name, ensure_ascii=False)}, "row": '
    return b"".join(
        joined(json_objects(batch, before=before, after="}\n")) for batch in batches(rows)
    )
