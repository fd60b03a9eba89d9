"""How results look on standard output: one file a format, one registry."""

from penstock.cli.formats.csv_format import CsvFormat
from penstock.cli.formats.form import Format
from penstock.cli.formats.json_format import JsonFormat
from penstock.cli.formats.table_format import TableFormat

FORMATS: dict[str, type[Format]] = {
    "table": TableFormat,
    "json": JsonFormat,
    "csv": CsvFormat,
}

__all__ = ["FORMATS", "Format"]
