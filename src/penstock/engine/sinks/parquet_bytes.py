"""Arrow tables as Parquet whose bytes depend on the rows and their types alone.

Rows that went through a file or another operator's job may be marked as never null, name the
elements of their lists otherwise, or lie in other chunks; a file's footer and its pages show that.
A replay has to write the same file again.
"""

import pyarrow as pa
import pyarrow.parquet as pq

FIELD_ID = b"PARQUET:field_id"  # left by reading a file


def parquet_bytes(rows: pa.Table) -> pa.Buffer:
    """Return a table as one Parquet file."""
    schema = pa.schema([_plain(field) for field in rows.schema])
    columns = [
        column if column.type == field.type else column.cast(field.type)
        for column, field in zip(rows.columns, schema, strict=True)
    ]
    out = pa.BufferOutputStream()
    pq.write_table(pa.table(columns, schema=schema).combine_chunks(), out)
    return out.getvalue()


def _plain(field: pa.Field) -> pa.Field:
    """Return the field, nullable, with its children's usual names and our own metadata alone."""
    kept = {name: value for name, value in (field.metadata or {}).items() if name != FIELD_ID}
    return pa.field(field.name, _plain_type(field.type), nullable=True, metadata=kept or None)


def _plain_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(kind):
        return pa.struct([_plain(kind.field(at)) for at in range(kind.num_fields)])
    if pa.types.is_map(kind):
        return pa.map_(_plain_type(kind.key_type), _plain_type(kind.item_type))
    if pa.types.is_list(kind):
        return pa.list_(pa.field("item", _plain_type(kind.value_type)))
    return kind
