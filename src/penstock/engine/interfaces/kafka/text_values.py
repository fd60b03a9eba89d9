"""Values that are text: JSON, CSV, and raw ones that stay as they are."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.engine.interfaces.formats.text import TextReader
from penstock.engine.interfaces.kafka.decoded import Decoded, Values
from penstock.engine.interfaces.rejects import Reject
from penstock.engine.trains.types import arrow_schema
from penstock.model.schema import Schema


class LineDecoder:
    """Each value is one line of JSON or CSV, read as files are."""

    def __init__(self, reader: TextReader) -> None:
        self._reader = reader

    def open(self) -> None:
        self._reader.open()

    def decode(self, values: Values) -> Decoded:
        lines, misfits = _texts(values)
        parsed = self._reader.parsed(pa.chunked_array([lines], pa.large_string()))
        if not parsed.rejects and not misfits:
            return Decoded(parsed.rows)
        # Values that are no text stand there as null, so that places stay what they are.
        alive = pc.and_(pc.invert(parsed.wrong), pc.is_valid(lines))
        wrong = np.flatnonzero(parsed.wrong.to_numpy()).tolist()
        told = zip(wrong, parsed.rejects, strict=True)
        return Decoded(parsed.rows.filter(alive), {**dict(told), **misfits})


class RawDecoder:
    """Values go into one column as they are."""

    def __init__(self, columns: Schema) -> None:
        self._columns = columns

    def open(self) -> None:
        """Any bytes fit."""

    def decode(self, values: Values) -> Decoded:
        schema = arrow_schema(self._columns)
        misfits: dict[int, Reject] = {}
        column = pa.array(values, pa.binary())
        if pa.types.is_string(schema.types[0]):
            column, misfits = _texts(values, blank=True)
        alive = column.filter(pc.is_valid(column)).cast(schema.types[0])
        return Decoded(pa.table([alive], schema=schema), misfits)


def _texts(values: Values, *, blank: bool = False) -> tuple[pa.Array, dict[int, Reject]]:
    """Return values as text, null where they are none; blank ones are none unless that is said."""
    try:
        texts = pa.array(values, pa.large_binary()).cast(pa.large_string())
    except pa.ArrowInvalid:
        found = [_text(value) for value in values]
        misfits = {
            at: Reject(values[at].decode(errors="replace"), "it is not UTF-8", kind="encoding")
            for at, text in enumerate(found)
            if text is None
        }
        texts = pa.array(found, pa.large_string())
    else:
        misfits = {}
    if blank:
        return texts, misfits
    empty = pc.equal(pc.utf8_trim_whitespace(texts), "").fill_null(False)
    for at in pc.indices_nonzero(empty).to_pylist():
        misfits[at] = Reject(texts[at].as_py(), "it is empty", kind="syntax")
    return pc.if_else(empty, None, texts) if misfits else texts, misfits


def _text(value: bytes) -> str | None:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return None
