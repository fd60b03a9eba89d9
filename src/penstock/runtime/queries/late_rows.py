"""Rows beside the results: those that came too late, and items that flows could not carry on."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.engine.trains.rows import empty_table
from penstock.engine.trains.types import arrow_schema
from penstock.engine.trains.unlike_rows import unlike_rows
from penstock.plan.operators import is_stateful, key, walk
from penstock.plan.operators.lateness import HELD, flows_in, judges, late_schema, takes_tuples
from penstock.runtime.names.directory import Directory, KnownQuery


@dataclass(frozen=True, slots=True)
class LateRows:
    """Kept by node, as Parquet; `place` says where."""

    directory: Directory
    place: Callable[[str], Path]

    def of(self, known: KnownQuery) -> pa.Table:
        """Return the tuples that came too late for a query's windows."""
        read = [
            (node, _read([self.place(key(node))], arrow_schema(late_schema(node))))
            for node in judges(known.root, known.foreign)
        ]
        # Those that read what others have put in order miss nothing: their columns would be empty.
        tables = [rows for node, rows in read if rows.num_rows or takes_tuples(node, known.foreign)]
        return unlike_rows(tables) if tables else empty_table(known.root.schema)

    def held(self, known: KnownQuery) -> pa.Table:
        """Return the items that the flows of a query could not carry on."""
        return _read([self.place(key(flow)) for flow in flows_in(known.root)], arrow_schema(HELD))

    def forget(self, known: KnownQuery) -> None:
        """Remove the late rows of windows that only this query has: it begins anew, or is gone."""
        stateful = [key(node) for node in walk(known.root) if is_stateful(node)]
        kept = {name: list(self.place(name).glob("*.parquet")) for name in stateful}
        if not any(kept.values()):  # looked at first: the other queries may be many
            return
        others = {
            key(node)
            for each in self.directory.queries()
            if each.definition.name.lower() != known.definition.name.lower()
            for node in walk(each.root)
        }
        for path in (path for name, paths in kept.items() if name not in others for path in paths):
            path.unlink(missing_ok=True)


def _read(directories: list[Path], schema: pa.Schema) -> pa.Table:
    paths = sorted(path for each in directories for path in each.glob("*.parquet"))
    tables = [pq.ParquetFile(path).read().cast(schema) for path in paths]
    return pa.concat_tables([schema.empty_table(), *tables])
