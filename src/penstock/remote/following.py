"""Server-Sent Events of a query, as rows and news: what both subscriptions read."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field

from penstock.remote.answers import RowReader, error_of
from penstock.remote.patience import PASSING
from penstock.runtime.durable.result_row import Position, ResultRow


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Rows that were gone before they could be sent; None is an unknown number."""

    rows: int | None


@dataclass(frozen=True, slots=True)
class Ended:
    """No more rows will come."""


News = ResultRow | LeftOut | Ended


@dataclass(slots=True)
class Lines:
    """Bytes as they come, as whole lines; only LF ends one, since rows may hold other breaks."""

    _rest: bytes = b""

    def of(self, data: bytes) -> Iterator[str]:
        """Yield the lines that these bytes complete."""
        *whole, self._rest = (self._rest + data).split(b"\n")
        return (line.removesuffix(b"\r").decode() for line in whole)


@dataclass(slots=True)
class Following:
    """Reads one query's events as their bytes come; `position` is where to go on."""

    query: str
    reader: RowReader
    position: Position | None
    _lines: Lines = field(default_factory=Lines)
    _fields: dict[str, str] = field(default_factory=dict)

    def begin(self) -> None:
        """Forget what a connection that broke had begun to say."""
        self._lines, self._fields = Lines(), {}

    def read(self, data: bytes) -> Iterator[News]:
        """Yield what these bytes complete.

        Raises:
            PenstockError: what has stopped everything in the server, unless that will pass.
        """
        for line in self._lines.of(data):
            yield from self._line(line)

    def _line(self, line: str) -> Iterator[News]:
        if line:
            if not line.startswith(":"):
                name, _, value = line.partition(":")
                self._fields[name] = value.removeprefix(" ")
            return
        fields, self._fields = self._fields, {}
        if "data" in fields:
            yield from self._event(fields)

    def _event(self, fields: dict[str, str]) -> Iterator[News]:
        match fields.get("event", ""):
            case "":
                number, _, index = fields["id"].partition("-")
                self.position = int(number), int(index)
                values = self.reader.values(fields["data"])
                yield ResultRow(self.query, self.position, values)
            case "left_out":
                yield LeftOut(json.loads(fields["data"])["rows"])
            case "end":
                yield Ended()
            case "error":
                error = error_of(json.loads(fields["data"]))
                if error.code not in PASSING:
                    raise error
            case _:
                pass  # what a newer server tells besides
