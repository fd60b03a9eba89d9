"""How results look on standard output: one file a format, one registry."""

from collections.abc import Callable

from penstock.cli.formats.csv_format import CsvFormat
from penstock.cli.formats.form import Format, Width
from penstock.cli.formats.json_format import JsonFormat
from penstock.cli.formats.table_format import TableFormat

# Only tables have to know how wide the terminal is.
FORMATS: dict[str, Callable[[Width], Format]] = {
    "table": TableFormat,
    "json": lambda _: JsonFormat(),
    "csv": lambda _: CsvFormat(),
}

__all__ = ["FORMATS", "Format", "Width"]
