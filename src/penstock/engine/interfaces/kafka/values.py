"""How records' values are read: the options that say so, and the decoder that they mean."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from penstock.engine.allowed import Allowed
from penstock.engine.clients.kafka.registry_place import REGISTRY_OPTIONS, RegistryPlace
from penstock.engine.interfaces.formats.reader import FileFormat
from penstock.engine.interfaces.interface import Surroundings
from penstock.engine.interfaces.kafka.decoded import Decoder, ItemDecoder
from penstock.engine.options import Declared, flag, one_character, one_of, text
from penstock.errors import BadOptionError
from penstock.model.definitions import StreamDefinition
from penstock.model.schema import Schema

VALUE_OPTIONS = {
    "format": Declared(
        one_of("json", "csv", "avro", "protobuf", "raw"),
        required=True,
        about="of the records' values",
    ),
    "delimiter": Declared(one_character, default=",", about="with csv: between fields"),
    "lenient": Declared(flag, default=False, about="2.0 fits an INT column"),
    "timestamp_format": Declared(text, about="with json and csv: a pattern of times"),
    **REGISTRY_OPTIONS,
    "schema": Declared(
        text, about="with avro and protobuf, in place of a registry: a file with the schema"
    ),
    "message": Declared(text, about="with protobuf and schema: the message's whole name"),
}
BY_SCHEMA = ("avro", "protobuf")
RAW = ("binary", "string")


@dataclass(frozen=True, slots=True)
class ValueFormat:
    """The values of VALUE_OPTIONS."""

    format: str
    delimiter: str
    lenient: bool
    timestamp_format: str | None
    registry: RegistryPlace | None
    schema: Path | None
    message: str | None

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> "ValueFormat":
        """Take what is ours from a source's options, or raise what does not fit together."""
        schema = None if options["schema"] is None else Path(options["schema"]).expanduser()
        made = cls(
            options["format"],
            options["delimiter"],
            options["lenient"],
            options["timestamp_format"],
            RegistryPlace.of(options),
            schema,
            options["message"],
        )
        made._require_schema()
        return made

    def _require_schema(self) -> None:
        by_schema = self.format in BY_SCHEMA
        if (
            ((self.registry is None) == (self.schema is None))
            if by_schema
            else (self.registry is not None or self.schema is not None)
        ):
            raise BadOptionError(
                "format => 'avro' and 'protobuf' of kafka take registry or schema, others neither",
                hint="registry => 'http://registry:8081', or schema => 'cars.avsc'",
            )
        named = self.format == "protobuf" and self.schema is not None
        if named != (self.message is not None):
            raise BadOptionError(
                "message of kafka goes with format => 'protobuf' and schema, which need it",
                hint="schema => 'cars.desc', message => 'shop.Car'",
            )

    def require_allowed(self, allowed: Allowed) -> None:
        """Raise where what reading values needs may not be reached."""
        if self.registry is not None:
            self.registry.require_allowed(allowed)
        if self.schema is not None:
            allowed.require_readable(str(self.schema))

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
        if self.format in BY_SCHEMA:
            return ItemDecoder(columns, self._item())
        module = import_module("penstock.engine.interfaces.kafka.text_values")
        if self.format == "raw":
            raw: Decoder = module.RawDecoder(columns)
            return raw
        text_reader = import_module("penstock.engine.interfaces.formats.text")
        own = replace(stream, schema=columns, time_column=None)
        lines: Decoder = module.LineDecoder(text_reader.TextReader(own, self._as_file, around))
        return lines

    def _item(self) -> Callable[[bytes], Mapping[str, Any]]:
        """Return what reads one value by its schema."""
        module = import_module(f"penstock.engine.interfaces.kafka.{self.format}_values")
        if self.registry is None:
            named = () if self.message is None else (self.message,)
            return module.by_file(self.schema, *named)  # type: ignore[no-any-return]
        registry = import_module("penstock.engine.clients.kafka.registry")
        client = registry.Registry(self.registry, serialized=self.format == "protobuf")
        return module.by_registry(client)  # type: ignore[no-any-return]  # modules of extras

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
