"""What a file format must do, and the options that files and replay share."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from penstock.engine.interfaces.formats.listing import FoundFile
from penstock.engine.interfaces.interface import Ingest
from penstock.engine.options import Declared, flag, one_character, one_of, text, whole

FORMAT_OPTIONS = {
    "path": Declared(
        text,
        required=True,
        about="a file, a directory or a pattern; for files also a URI: s3://bucket/directory",
    ),
    "format": Declared(
        one_of("json", "csv", "text", "parquet"), required=True, about="of the files"
    ),
    "header": Declared(flag, default=True, about="with csv: the first line names the columns"),
    "delimiter": Declared(one_character, default=",", about="with csv: between fields"),
    "multiline": Declared(flag, default=False, about="with csv: line breaks inside quotes"),
    "lenient": Declared(flag, default=False, about="2.0 fits an INT column"),
    "timestamp_format": Declared(text, about="with json and csv: a pattern of times"),
    "rows_per_train": Declared(whole(), about="cut files into runs of so many rows"),
}


@dataclass(frozen=True, slots=True)
class FileFormat:
    """The values of FORMAT_OPTIONS but the path."""

    format: str
    header: bool
    delimiter: str
    multiline: bool
    lenient: bool
    timestamp_format: str | None
    rows_per_train: int | None

    @classmethod
    def of(cls, options: dict[str, Any]) -> "FileFormat":
        """Take what is ours from an interface's options."""
        return cls(**{name: options[name] for name in cls.__slots__})


@dataclass(frozen=True, slots=True)
class FilePiece:
    """Part of a file: bytes of text or rows of Parquet; no `last` means to the end."""

    entry: FoundFile
    first: int = 0
    last: int | None = None


class FormatReader(Protocol):
    """One format. Files that cannot be read become rejects; only Spark's failure is an error."""

    def open(self) -> None:
        """Raise BadOptionError where the format cannot hold the stream's columns."""
        ...

    def extent(self, entry: FoundFile) -> int | None:
        """Return where the last piece of a file ends, or None where it is read in one piece."""
        ...

    def cut(self, entry: FoundFile, first: int) -> int:
        """Return where the piece that starts at `first` ends."""
        ...

    def read(self, pieces: Sequence[FilePiece]) -> Ingest:
        """Return the rows of the pieces in their order, in place where that can be."""
        ...

    def load(self, pieces: Sequence[FilePiece]) -> Ingest:
        """Return the rows of the pieces in their order, always as a table."""
        ...
