"""console(format => 'table'): results on standard output."""

import sys
from typing import Any, TextIO

from penstock.engine.options import Declared, one_of, read_options
from penstock.engine.sinks.csv_text import csv_text
from penstock.engine.sinks.json_lines import json_lines
from penstock.engine.sinks.sink import ALONE, Delivery, SinkSurroundings
from penstock.engine.sinks.table_text import table_text
from penstock.errors import SinkError
from penstock.model.definitions import Connector, QueryDefinition

OPTIONS = {
    "format": Declared(one_of("table", "json", "csv"), default="table", about="how rows look")
}


class ConsoleSink:
    """Prints every delivery; what is printed cannot be taken back, so a replay may print again."""

    repeatable = False

    def __init__(
        self,
        definition: QueryDefinition,
        around: SinkSurroundings = ALONE,
        out: TextIO | None = None,
    ) -> None:
        self._format = _options(definition)["format"]
        self._out = out
        self._headed = False

    @classmethod
    def check(cls, definition: QueryDefinition) -> None:
        """Raise what is wrong with the options."""
        _options(definition)

    def open(self) -> None:
        if self._out is None:
            self._out = sys.stdout

    def write(self, delivery: Delivery) -> None:
        if self._out is None:
            raise SinkError("the console was not opened")
        if not delivery.rows.num_rows:
            return
        try:
            self._out.write(_fit_for(self._out, self._text(delivery)))
            self._out.flush()
        except (OSError, ValueError) as error:  # ValueError: somebody closed the stream
            raise SinkError(
                f"results of {delivery.query} cannot be printed: {error}",
                hint="whatever read the output may have ended",
            ) from error
        self._headed = True

    def close(self) -> None:
        """Leave the stream open: it is not ours."""

    def _text(self, delivery: Delivery) -> str:
        match self._format:
            case "json":
                return json_lines(delivery.rows).decode()
            case "csv":
                return csv_text(delivery.rows, header=not self._headed).decode()
            case _:
                return f"{delivery.query}\n{table_text(delivery.rows)}\n"


def _options(definition: QueryDefinition) -> dict[str, Any]:
    return read_options(definition.sink or Connector("console"), OPTIONS)


def _fit_for(out: TextIO, text: str) -> str:
    """Return the text with what the terminal's encoding lacks written as escapes."""
    encoding = out.encoding or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)
