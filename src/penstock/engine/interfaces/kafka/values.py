"""How records' values are read: the options that say so, and the decoder that they mean."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

from penstock.engine.allowed import Allowed
from penstock.engine.interfaces.formats.reader import FileFormat
from penstock.engine.interfaces.interface import Surroundings
from penstock.engine.interfaces.kafka.decoded import Decoder
from penstock.engine.options import Declared, flag, one_character, one_of, text
from penstock.errors import BadOptionError
from penstock.model.definitions import StreamDefinition
from penstock.model.schema import Schema

VALUE_OPTIONS = {
    "format": Declared(one_of("json", "csv", "raw"), required=True, about="of the records' values"),
    "delimiter": Declared(one_character, default=",", about="with csv: between fields"),
    "lenient": Declared(flag, default=False, about="2.0 fits an INT column"),
    "timestamp_format": Declared(text, about="with json and csv: a pattern of times"),
}
RAW = ("binary", "string")


@dataclass(frozen=True, slots=True)
class ValueFormat:
    """The values of VALUE_OPTIONS."""

    format: str
    delimiter: str
    lenient: bool
    timestamp_format: str | None

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> "ValueFormat":
        """Take what is ours from a source's options."""
        return cls(**{name: options[name] for name in cls.__slots__})

    def require_allowed(self, allowed: Allowed) -> None:
        """Raise where what reading values needs may not be reached."""

    def require_columns(self, columns: Schema) -> None:
        """Raise where values cannot go into such columns."""
        if not columns.columns:
            raise BadOptionError(
                "no column takes the records' values",
                hint="declare one more, beside those that key_column and its like name",
            )
        if self.format == "raw" and (
            len(columns) > 1 or columns.columns[0].type.lower() not in RAW
        ):
            raise BadOptionError(
                "format => 'raw' of kafka takes one column of BINARY or STRING, not "
                f"{columns.ddl()}",
                hint="name the columns of keys and times: key_column => …, timestamp_column => …",
            )

    def decoder(self, stream: StreamDefinition, columns: Schema, around: Surroundings) -> Decoder:
        """Return what reads values into some columns of a stream."""
        module = import_module("penstock.engine.interfaces.kafka.text_values")
        if self.format == "raw":
            raw: Decoder = module.RawDecoder(columns)
            return raw
        text_reader = import_module("penstock.engine.interfaces.formats.text")
        own = replace(stream, schema=columns, time_column=None)
        lines: Decoder = module.LineDecoder(text_reader.TextReader(own, self._as_file, around))
        return lines

    @property
    def _as_file(self) -> FileFormat:
        """Return the format of a file that would have such lines."""
        return FileFormat(
            format=self.format,
            header=False,
            delimiter=self.delimiter,
            multiline=True,
            lenient=self.lenient,
            timestamp_format=self.timestamp_format,
            rows_per_train=None,
        )
