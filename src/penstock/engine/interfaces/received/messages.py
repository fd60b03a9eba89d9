"""Messages as they came, and the rows that they hold.

A message is kept as it came, with its number and where it came from, and is read when its train
is: what does not fit becomes a reject that names both.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from penstock.engine.interfaces.formats.reader import FileFormat
from penstock.engine.interfaces.formats.text import TextReader
from penstock.engine.interfaces.interface import Ingest, Surroundings
from penstock.engine.interfaces.rejects import Reject, event_time, rejects_of
from penstock.engine.options import Declared, flag, one_character, one_of, text
from penstock.engine.trains.types import arrow_schema
from penstock.errors import BadOptionError, UnknownColumnError, shortened
from penstock.model.definitions import StreamDefinition
from penstock.model.schema import Column, Schema

MESSAGES = Schema(
    (
        Column("number", "bigint"),
        Column("origin", "string"),
        Column("payload", "binary"),
        Column("retained", "boolean"),
        Column("again", "boolean"),
        Column("mark", "string"),
        Column("gap", "string"),
    )
)
PAYLOAD_OPTIONS = {
    "format": Declared(
        one_of("json", "csv", "text", "bytes"), default="json", about="of what a message holds"
    ),
    "delimiter": Declared(one_character, default=",", about="with csv: between fields"),
    "lenient": Declared(flag, default=False, about="2.0 fits an INT column"),
    "timestamp_format": Declared(text, about="with json and csv: a pattern of times"),
}
WHOLE = {"text": "string", "bytes": "binary"}  # formats of one column, and its type


class Message(NamedTuple):
    """What came at once, or a gap: why something that should have come will not.

    `mark` says where to go on behind it; `again` that the other side says it has sent it before.
    """

    origin: str
    payload: bytes = b""
    retained: bool = False
    again: bool = False
    mark: str | None = None
    gap: str | None = None


@dataclass(frozen=True, slots=True)
class Told:
    """A column that holds what is known of a message beside its payload."""

    column: Column
    field: str


def table_of_messages(messages: Sequence[Message], first: int) -> pa.Table:
    """Return messages as they are kept, numbered from `first`."""
    columns = [range(first, first + len(messages)), *zip(*messages, strict=True)]
    schema = arrow_schema(MESSAGES)
    return pa.table([pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)], schema)


def told_columns(
    definition: StreamDefinition, options: Mapping[str, Any], fields: Mapping[str, tuple[str, str]]
) -> tuple[Told, ...]:
    """Return the columns that options name for fields of a message; raise where one misfits."""
    found = []
    for option, (field, kind) in fields.items():
        if options[option] is None:
            continue
        column = definition.schema.find(options[option])
        if column is None:
            raise UnknownColumnError(
                f"{definition.name} has no column {options[option]} for {option}",
                hint=f"there is {', '.join(definition.schema.names)}",
            )
        if column.type.lower() != kind:
            raise BadOptionError(f"{option} => '{column.name}' needs a column of {kind.upper()}")
        found.append(Told(column, field))
    return tuple(found)


class MessageReader:
    """Reads the rows of one stream out of messages."""

    def __init__(
        self,
        definition: StreamDefinition,
        options: Mapping[str, Any],
        told: Sequence[Told],
        around: Surroundings,
    ) -> None:
        """Take PAYLOAD_OPTIONS; columns of `told` are filled from what is beside the payload."""
        self._schema, self._told = definition.schema, told
        self._format: str = options["format"]
        names = {each.column.name for each in told}
        held = Schema(tuple(column for column in definition.schema if column.name not in names))
        self._held = held
        if self._format in WHOLE:
            self._require_one(definition)
            return
        own = StreamDefinition(definition.name, held, definition.source)
        file_format = FileFormat(
            self._format,
            header=False,
            delimiter=options["delimiter"],
            multiline=False,
            lenient=options["lenient"],
            timestamp_format=options["timestamp_format"],
            rows_per_train=None,
        )
        self._lines = TextReader(own, file_format, around)

    def open(self) -> None:
        """Raise BadOptionError where the format cannot hold the stream's columns."""
        if self._format not in WHOLE:
            self._lines.open()

    def read(self, messages: pa.Table) -> Ingest:
        """Return the rows of kept messages, in their order."""
        places, bodies, rejects = self._bodies(messages)
        taken = messages.take(pa.array(places, pa.int64()))
        if self._format in WHOLE:
            rows, fitting = self._whole(bodies), taken
        else:
            parsed = self._lines.parsed(pa.chunked_array([bodies], pa.large_string()))
            wrong = np.flatnonzero(parsed.wrong.to_numpy())
            sources = taken.take(pa.array(wrong, pa.int64())).select(["number", "origin"])
            rejects += [
                _placed(reject, **place)
                for reject, place in zip(parsed.rejects, sources.to_pylist(), strict=True)
            ]
            rows = parsed.fitting
            fitting = taken.filter(pa.array(~parsed.wrong.to_numpy().astype(bool)))
        return Ingest(self._joined(rows, fitting), rejects_of(rejects))

    def _bodies(self, messages: pa.Table) -> tuple[list[int], list[Any], list[Reject]]:
        """Return where messages stand that can be parsed, as what, and rejects of the others."""
        places, bodies, rejects = [], [], []
        for at, each in enumerate(messages.to_pylist()):
            where = {"number": each["number"], "origin": each["origin"]}
            if each["gap"] is not None:
                rejects.append(Reject("", each["gap"], kind="gap"))
                continue
            body = _body(each["payload"], self._format)
            if isinstance(body, Reject):
                rejects.append(_placed(body, **where))
            else:
                places.append(at)
                bodies.append(body)
        return places, bodies, rejects

    def _whole(self, bodies: list[Any]) -> pa.Table:
        schema = arrow_schema(self._held)
        return pa.table([pa.array(bodies, schema[0].type)], schema=schema)

    def _joined(self, rows: pa.Table, messages: pa.Table) -> pa.Table:
        """Return the stream's columns: those of the payload, and those that are told beside it."""
        schema = arrow_schema(self._schema)
        beside = {each.column.name: messages[each.field] for each in self._told}
        columns = [
            beside.get(name, rows[name] if name not in beside else None) for name in schema.names
        ]
        return pa.table(columns, schema=schema)

    def _require_one(self, definition: StreamDefinition) -> None:
        kind = WHOLE[self._format]
        if [column.type.lower() for column in self._held] != [kind]:
            raise BadOptionError(
                f"format => '{self._format}' fills one column of {kind.upper()}, and "
                f"{definition.name} has {', '.join(self._held.names)}",
                hint="declare that one alone, beside those that other options name",
            )


def check_messages(
    definition: StreamDefinition,
    options: Mapping[str, Any],
    fields: Mapping[str, tuple[str, str]],
) -> None:
    """Raise what is wrong with a stream of messages, without Spark."""
    event_time(definition)
    told = told_columns(definition, options, fields)
    names = {each.column.name for each in told}
    held = [column for column in definition.schema if column.name not in names]
    if not held:
        raise BadOptionError(
            f"{definition.name} has no column for what a message holds",
            hint="declare one that no option names",
        )


def _body(payload: bytes, kind: str) -> str | bytes | Reject:
    """Return what a message holds as its format takes it, or why it cannot be that."""
    if kind == "bytes":
        return payload
    try:
        found = payload.decode()
    except UnicodeDecodeError:
        raw = payload.decode(errors="replace")
        return Reject(raw, "the message is not UTF-8", kind="encoding")
    if kind == "text":
        return found
    line = found.strip()
    if not line:
        return Reject(found, "the message is empty", kind="syntax")
    if kind == "csv" and "\n" in line:
        return Reject(found, "a message of csv is one line", kind="line break")
    return line.replace("\n", " ")  # in JSON a line break inside a text is written as \\n


def _placed(reject: Reject, number: int, origin: str) -> Reject:
    """Return a reject that says where the message stands and where it came from."""
    return reject._replace(reason=f"message {number} of {shortened(origin)}: {reject.reason}")
