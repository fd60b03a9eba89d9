"""How items cross between processes: as Arrow files that the reader maps into its memory.

Measured (docs/decisions/0020): by way of the JVM, in binary columns, 60 to 100 MB a second; as
files that workers map, and hand back as files, 250 to 500. The home has to be on a file system
that the workers see, as for trains on disk (docs/decisions/0002).
"""

from pathlib import Path

import pyarrow as pa

from penstock.functions.data.items import Items, StreamType


def write_items(items: Items, path: Path) -> None:
    """Write items with their numbers, in one piece, so that a reader's columns are, too."""
    table = items.packed()
    if any(column.num_chunks > 1 for column in table.columns):
        table = table.combine_chunks()
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)


def read_items(path: Path, kind: StreamType) -> Items:
    """Return the items of a file; they stay readable when the file is removed."""
    with pa.memory_map(str(path)) as source:
        return Items.from_table(kind, pa.ipc.open_file(source).read_all())
