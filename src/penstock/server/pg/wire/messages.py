"""The messages: what clients send, and what the server answers."""

from dataclasses import dataclass, fields
from typing import ClassVar, Self

from penstock.errors import WireError
from penstock.server.pg.wire.layout import (
    BYTE,
    INT16,
    INT32,
    LETTER,
    REST,
    TEXT,
    UINT32,
    VALUE,
    Cursor,
    Kind,
    counted,
    ended,
    together,
)

SSL_REQUEST = 80877103
GSS_REQUEST = 80877104
CANCEL_REQUEST = 80877102
VERSION = 3  # of the protocol; its minor versions are negotiated


class Message:
    """A message: one letter, and fields that `layout` names in their order."""

    letter: ClassVar[str]
    layout: ClassVar[tuple[Kind, ...]] = ()

    def body(self) -> bytes:
        """Return the bytes after the length."""
        values = (getattr(self, field.name) for field in fields(self))  # type: ignore[arg-type]  # every message is a dataclass
        return b"".join(kind.write(value) for kind, value in zip(self.layout, values, strict=True))

    def encoded(self) -> bytes:
        """Return the whole message."""
        return framed(self.letter, self.body())

    @classmethod
    def decoded(cls, body: bytes) -> Self:
        """Return the message that has these bytes after its length."""
        cursor = Cursor(body)
        message = cls(*(kind.read(cursor) for kind in cls.layout))
        if cursor.at != len(body):
            raise WireError(f"a message {cls.letter} is longer than what it says")
        return message


def framed(letter: str, body: bytes) -> bytes:
    """Return a message of a letter and its bytes."""
    return letter.encode("ascii") + INT32.write(len(body) + 4) + body


@dataclass(frozen=True, slots=True)
class Query(Message):
    """A text of statements, to be carried out at once."""

    letter = "Q"
    layout = (TEXT,)
    text: str


@dataclass(frozen=True, slots=True)
class Parse(Message):
    """A statement with parameters, to be kept under a name."""

    letter = "P"
    layout = (TEXT, TEXT, counted(UINT32))
    name: str
    text: str
    types: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Bind(Message):
    """Values for a statement's parameters: together they are a portal."""

    letter = "B"
    layout = (TEXT, TEXT, counted(INT16), counted(VALUE), counted(INT16))
    portal: str
    statement: str
    formats: tuple[int, ...] = ()
    values: tuple[bytes | None, ...] = ()
    result_formats: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Describe(Message):
    """What columns a statement (S) or a portal (P) gives."""

    letter = "D"
    layout = (LETTER, TEXT)
    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class Execute(Message):
    """Rows of a portal, at most so many; 0 is all."""

    letter = "E"
    layout = (TEXT, INT32)
    portal: str
    most: int = 0


@dataclass(frozen=True, slots=True)
class Close(Message):
    """Forget a statement (S) or a portal (P)."""

    letter = "C"
    layout = (LETTER, TEXT)
    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class Password(Message):
    """The answer to a request for a password."""

    letter = "p"
    layout = (TEXT,)
    text: str


@dataclass(frozen=True, slots=True)
class CopyFail(Message):
    """The client cannot go on with its rows."""

    letter = "f"
    layout = (TEXT,)
    cause: str


@dataclass(frozen=True, slots=True)
class Sync(Message):
    """The end of what belongs together; errors before it are over."""

    letter = "S"


@dataclass(frozen=True, slots=True)
class Flush(Message):
    """Send what is ready."""

    letter = "H"


@dataclass(frozen=True, slots=True)
class Terminate(Message):
    """Goodbye."""

    letter = "X"


@dataclass(frozen=True, slots=True)
class CopyData(Message):
    """Rows of a COPY, in either direction."""

    letter = "d"
    layout = (REST,)
    data: bytes


@dataclass(frozen=True, slots=True)
class CopyDone(Message):
    """The end of the rows of a COPY, in either direction."""

    letter = "c"


@dataclass(frozen=True, slots=True)
class AuthenticationOk(Message):
    """The client is who it says."""

    letter = "R"
    layout = (INT32,)
    kind: int = 0


@dataclass(frozen=True, slots=True)
class AskPassword(Message):
    """The client has to send its password as it is."""

    letter = "R"
    layout = (INT32,)
    kind: int = 3


@dataclass(frozen=True, slots=True)
class NegotiateVersion(Message):
    """The newest minor version that is spoken, and options that are not known."""

    letter = "v"
    layout = (INT32, counted(TEXT, INT32))
    minor: int
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ParameterStatus(Message):
    """A setting of the session."""

    letter = "S"
    layout = (TEXT, TEXT)
    name: str
    value: str


@dataclass(frozen=True, slots=True)
class BackendKey(Message):
    """What a request to cancel has to name."""

    letter = "K"
    layout = (UINT32, UINT32)
    process: int
    secret: int


@dataclass(frozen=True, slots=True)
class ReadyForQuery(Message):
    """The next query may come; in no transaction (I), in one (T), in a failed one (E)."""

    letter = "Z"
    layout = (LETTER,)
    status: str


@dataclass(frozen=True, slots=True)
class RowDescription(Message):
    """The columns: name, table, its column, type, size, modifier, format."""

    letter = "T"
    layout = (counted(together(TEXT, UINT32, INT16, UINT32, INT16, INT32, INT16)),)
    columns: tuple[tuple[str, int, int, int, int, int, int], ...]


@dataclass(frozen=True, slots=True)
class DataRow(Message):
    """A row."""

    letter = "D"
    layout = (counted(VALUE),)
    values: tuple[bytes | None, ...]


@dataclass(frozen=True, slots=True)
class CommandComplete(Message):
    """A statement is done."""

    letter = "C"
    layout = (TEXT,)
    tag: str


@dataclass(frozen=True, slots=True)
class ErrorResponse(Message):
    """What is wrong, field by field."""

    letter = "E"
    layout = (ended(together(LETTER, TEXT)),)
    fields: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class NoticeResponse(Message):
    """Something to know, field by field."""

    letter = "N"
    layout = (ended(together(LETTER, TEXT)),)
    fields: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class ParameterDescription(Message):
    """The types of a statement's parameters."""

    letter = "t"
    layout = (counted(UINT32),)
    types: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CopyOutResponse(Message):
    """Rows of a COPY follow, as text (0) or binary (1)."""

    letter = "H"
    layout = (BYTE, counted(INT16))
    form: int
    formats: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ParseComplete(Message):
    """The statement is kept."""

    letter = "1"


@dataclass(frozen=True, slots=True)
class BindComplete(Message):
    """The portal is there."""

    letter = "2"


@dataclass(frozen=True, slots=True)
class CloseComplete(Message):
    """It is forgotten."""

    letter = "3"


@dataclass(frozen=True, slots=True)
class NoData(Message):
    """The statement gives no rows."""

    letter = "n"


@dataclass(frozen=True, slots=True)
class EmptyQuery(Message):
    """There was no statement."""

    letter = "I"


@dataclass(frozen=True, slots=True)
class PortalSuspended(Message):
    """The portal has more rows."""

    letter = "s"


FROM_CLIENT: dict[str, type[Message]] = {
    message.letter: message
    for message in (
        Query,
        Parse,
        Bind,
        Describe,
        Execute,
        Close,
        Password,
        Sync,
        Flush,
        Terminate,
        CopyData,
        CopyDone,
        CopyFail,
    )
}


def read_startup(body: bytes) -> dict[str, str]:
    """Return the parameters of a startup message, after its version."""
    cursor, found = Cursor(body), {}
    while name := TEXT.read(cursor):
        found[name] = TEXT.read(cursor)
    return found
