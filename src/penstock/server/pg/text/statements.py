"""What kind of statement a client sends: which of them the session answers, and which Penstock.

Sessions of PostgreSQL's clients send much that is about the session alone: SET, SHOW, BEGIN,
DISCARD. Cursors, SUBSCRIBE and COPY say how rows are to come. All else is Penstock's.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from penstock.errors import NotYetError, SqlError
from penstock.server.pg.text.catalog_names import asks_catalog
from penstock.server.pg.text.lexer import Lexeme, Token, place_at

ALL = "all"
Format = Literal["text", "csv", "binary"]


@dataclass(frozen=True, slots=True)
class Transaction:
    """BEGIN, COMMIT, ROLLBACK, and savepoints; none of them does anything but change the status."""

    verb: Literal["BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE", "ROLLBACK TO"]


@dataclass(frozen=True, slots=True)
class SetParameter:
    """SET, or RESET where there is no value, or no name for all."""

    name: str
    value: str | None
    tag: str = "SET"


@dataclass(frozen=True, slots=True)
class ShowParameter:
    """SHOW of a setting of the session."""

    name: str


@dataclass(frozen=True, slots=True)
class Forget:
    """DISCARD, DEALLOCATE, CLOSE, UNLISTEN: of a name, or of all."""

    what: Literal["ALL", "STATEMENT", "CURSOR", "NOTHING"]
    name: str
    tag: str


@dataclass(frozen=True, slots=True)
class Subscribe:
    """SUBSCRIBE: a query's rows as they come, after a position where one is given."""

    query: str
    after: str | None = None
    with_position: bool = False


@dataclass(frozen=True, slots=True)
class CatalogQuestion:
    """A SELECT over pg_catalog, information_schema, or about the session."""


@dataclass(frozen=True, slots=True)
class Penstock:
    """A statement of Penstock's; `asks` where it changes nothing and may give rows."""

    verb: str
    asks: bool


@dataclass(frozen=True, slots=True)
class Declare:
    """DECLARE: a cursor over what the tokens say."""

    name: str
    inner: tuple[Token, ...]


@dataclass(frozen=True, slots=True)
class Fetch:
    """FETCH or MOVE: the next rows of a cursor, or all that are left."""

    name: str
    most: int | None
    moves: bool


@dataclass(frozen=True, slots=True)
class CopyOut:
    """COPY … TO STDOUT: the rows of what the tokens say, in a format."""

    inner: tuple[Token, ...]
    form: Format = "text"
    delimiter: str = "\t"
    null: str = "\\N"
    header: bool = False


Form: TypeAlias = (
    Transaction
    | SetParameter
    | ShowParameter
    | Forget
    | Subscribe
    | CatalogQuestion
    | Penstock
    | Declare
    | Fetch
    | CopyOut
)
ASKING = ("SELECT", "WITH", "VALUES", "FROM", "(", "SHOW", "DESCRIBE", "DESC", "EXPLAIN")
# What SET and SHOW of Penstock's own are about; statement_timeout is the session's here.
OWN_SETTINGS = ("STRATEGY", "BATCHING", "RUN_TIMEOUT", "JOIN_MEMORY")
OWN_VIEWS = (
    "STREAMS", "TABLES", "QUERIES", "EVENTS", "RULES", "SHARING", "OPERATORS", "STRATEGY", "QOS",
    "LOAD", "TYPES", "FUNCTIONS", "SITES", "PROPERTIES", "UNITS", "BUFFERS", "TRAINS", "CONTRACTS",
    "DEAD_LETTERS", "HISTORY", "JOINS", "LATENCIES", "VIEWS",
)  # fmt: skip


class Reader:
    """Tokens of one statement, read from the front."""

    def __init__(self, text: str, tokens: Sequence[Token]) -> None:
        self.text = text
        self.tokens = tuple(tokens)
        self.at = 0

    def sees(self, *words: str) -> bool:
        """Say whether these words come next."""
        ahead = self.tokens[self.at : self.at + len(words)]
        return len(ahead) == len(words) and all(
            t.is_word(w) for t, w in zip(ahead, words, strict=True)
        )

    def takes(self, *words: str) -> bool:
        """Pass these words where they come next."""
        seen = self.sees(*words)
        self.at += len(words) * seen
        return seen

    def take(self, what: str) -> Token:
        """Return the next token."""
        if self.at >= len(self.tokens):
            self.miss(what)
        self.at += 1
        return self.tokens[self.at - 1]

    def name(self) -> str:
        """Return a name, folded to lower case where it is not quoted."""
        token = self.take("a name")
        if not token.is_name:
            self.at -= 1
            self.miss("a name")
        return token.value if token.kind is Lexeme.QUOTED else token.value.lower()

    def string(self) -> str:
        """Return the value of a string."""
        token = self.take("a string")
        if token.kind is not Lexeme.STRING:
            self.at -= 1
            self.miss("a string")
        return token.value

    def rest(self) -> tuple[Token, ...]:
        """Return what is left."""
        found, self.at = self.tokens[self.at :], len(self.tokens)
        return found

    def end(self) -> None:
        """Raise where something is left."""
        if self.at < len(self.tokens):
            self.miss("the end of the statement")

    def miss(self, what: str, hint: str = "") -> None:
        """Raise what was expected here."""
        past = self.at >= len(self.tokens)
        offset = self.tokens[-1].end if past else self.tokens[self.at].begin
        raise SqlError(f"{what} was expected", hint=hint, place=place_at(self.text, offset))


def form_of(text: str, tokens: Sequence[Token]) -> Form:
    """Return what a statement is."""
    reader = Reader(text, tokens)
    verb = tokens[0].value.upper() if tokens[0].kind is not Lexeme.STRING else ""
    read = READERS.get(verb)
    found = read(reader) if read is not None else None
    if found is not None:
        return found
    if verb in ("SELECT", "WITH", "VALUES", "TABLE", "(") and asks_catalog(tokens):
        return CatalogQuestion()
    return Penstock(verb, verb in ASKING)


def _begin(reader: Reader) -> Transaction:
    reader.rest()  # levels of isolation make no difference to what is no transaction
    return Transaction("BEGIN")


def _start(reader: Reader) -> Transaction | None:
    return _begin(reader) if reader.sees("START", "TRANSACTION") else None


def _commit(reader: Reader) -> Transaction:
    _ended(reader)
    return Transaction("COMMIT")


def _rollback(reader: Reader) -> Transaction:
    for begin in (
        ("ROLLBACK", "TO"),
        ("ROLLBACK", "WORK", "TO"),
        ("ROLLBACK", "TRANSACTION", "TO"),
    ):
        if reader.takes(*begin):
            reader.takes("SAVEPOINT")
            reader.name()
            reader.end()
            return Transaction("ROLLBACK TO")
    _ended(reader)
    return Transaction("ROLLBACK")


def _ended(reader: Reader) -> None:
    reader.take("a word")
    if reader.sees("PREPARED"):
        raise NotYetError("there are no prepared transactions", hint="leave PREPARED out")
    _ = reader.takes("WORK") or reader.takes("TRANSACTION")
    if reader.takes("AND", "NO", "CHAIN") or reader.takes("AND", "CHAIN"):
        reader.end()
    reader.end()


def _savepoint(reader: Reader) -> Transaction:
    reader.take("SAVEPOINT")
    reader.name()
    reader.end()
    return Transaction("SAVEPOINT")


def _release(reader: Reader) -> Transaction:
    reader.take("RELEASE")
    reader.takes("SAVEPOINT")
    reader.name()
    reader.end()
    return Transaction("RELEASE")


def _set(reader: Reader) -> SetParameter | None:
    reader.take("SET")
    if any(reader.sees(word) for word in OWN_SETTINGS):
        return None
    if reader.takes("TRANSACTION") or reader.takes("SESSION", "CHARACTERISTICS"):
        reader.rest()
        return SetParameter("transaction", "")
    _ = reader.takes("SESSION") or reader.takes("LOCAL")
    if reader.takes("TIME", "ZONE"):
        return SetParameter("timezone", _setting(reader))
    if reader.takes("NAMES"):
        return SetParameter("client_encoding", _setting(reader))
    name = _setting_name(reader)
    if not (reader.takes("TO") or reader.takes("=")):
        reader.miss("TO or =")
    return SetParameter(name, _setting(reader))


def _setting_name(reader: Reader) -> str:
    name = reader.name()
    while reader.takes("."):
        name = f"{name}.{reader.name()}"
    return name


def _setting(reader: Reader) -> str | None:
    """Return the value of a setting: words, numbers or strings, separated by commas."""
    if reader.sees("DEFAULT"):
        reader.rest()
        return None
    parts = []
    sign = ""
    while reader.at < len(reader.tokens):
        token = reader.take("a value")
        if token.is_word("-"):
            sign = "-"
        elif token.kind is Lexeme.PARAMETER or (token.kind is Lexeme.SYMBOL and token.value != ","):
            reader.at -= 1
            reader.miss("a value")
        elif token.value != "," or token.kind is Lexeme.STRING:
            parts.append(sign + token.value)
            sign = ""
    if not parts:
        reader.miss("a value")
    return ", ".join(parts)


def _reset(reader: Reader) -> SetParameter:
    reader.take("RESET")
    name = "" if reader.takes("ALL") else _setting_name(reader)
    reader.end()
    return SetParameter(name, None, "RESET")


def _show(reader: Reader) -> ShowParameter | None:
    reader.take("SHOW")
    if any(reader.sees(word) for word in OWN_VIEWS):
        return None
    if reader.takes("TRANSACTION", "ISOLATION", "LEVEL"):
        return ShowParameter("transaction_isolation")
    if reader.takes("TIME", "ZONE"):
        return ShowParameter("timezone")
    name = _setting_name(reader)
    reader.end()
    return ShowParameter(name)


def _discard(reader: Reader) -> Forget:
    reader.take("DISCARD")
    what = reader.name()
    reader.end()
    return Forget("ALL" if what == ALL else "NOTHING", what, f"DISCARD {what.upper()}")


def _deallocate(reader: Reader) -> Forget:
    reader.take("DEALLOCATE")
    reader.takes("PREPARE")
    name = reader.name()
    reader.end()
    return Forget("STATEMENT", name, "DEALLOCATE ALL" if name == ALL else "DEALLOCATE")


def _close(reader: Reader) -> Forget:
    reader.take("CLOSE")
    name = reader.name()
    reader.end()
    return Forget("CURSOR", name, "CLOSE CURSOR ALL" if name == ALL else "CLOSE CURSOR")


def _unlisten(reader: Reader) -> Forget:
    reader.rest()
    return Forget("NOTHING", "", "UNLISTEN")


def _subscribe(reader: Reader) -> Subscribe:
    reader.take("SUBSCRIBE")
    reader.takes("TO")
    query = reader.name()
    if reader.takes("."):  # of the schema public
        query = reader.name()
    with_position = reader.takes("WITH", "POSITION")
    after = None
    if reader.takes("AFTER"):
        after = "now" if reader.takes("NOW") else reader.string()
    reader.end()
    return Subscribe(query, after, with_position)


def _declare(reader: Reader) -> Declare:
    reader.take("DECLARE")
    name = reader.name()
    while reader.take("CURSOR").value.upper() != "CURSOR":
        previous = reader.tokens[reader.at - 1]
        if not previous.is_word("BINARY", "ASENSITIVE", "INSENSITIVE", "NO", "SCROLL"):
            reader.at -= 1
            reader.miss("CURSOR")
    _ = reader.takes("WITH", "HOLD") or reader.takes("WITHOUT", "HOLD")
    if not reader.takes("FOR"):
        reader.miss("FOR")
    inner = reader.rest()
    if not inner:
        reader.miss("a SELECT or SUBSCRIBE")
    return Declare(name, inner)


def _fetch(reader: Reader) -> Fetch:
    moves = reader.take("FETCH").is_word("MOVE")
    if reader.sees("BACKWARD") or reader.sees("PRIOR") or reader.sees("ABSOLUTE"):
        raise NotYetError("cursors go forward alone", hint="FETCH FORWARD n FROM cursor")
    _ = reader.takes("FORWARD") or reader.takes("NEXT")
    most: int | None = 1
    if reader.takes("ALL"):
        most = None
    elif reader.at < len(reader.tokens) and reader.tokens[reader.at].kind is Lexeme.NUMBER:
        most = _count(reader)
    _ = reader.takes("FROM") or reader.takes("IN")
    name = reader.name()
    reader.end()
    return Fetch(name, most, moves)


def _count(reader: Reader) -> int:
    token = reader.take("a number")
    if not token.value.isascii() or not token.value.isdigit():
        reader.at -= 1
        reader.miss("a whole number")
    return int(token.value)


def _copy(reader: Reader) -> CopyOut:
    reader.take("COPY")
    inner = _in_parentheses(reader) if reader.sees("(") else _whole_relation(reader)
    if reader.sees("FROM"):
        raise NotYetError(
            "COPY … FROM does not run", hint="push rows by HTTP: POST /v1/streams/NAME/rows"
        )
    if not reader.takes("TO", "STDOUT"):
        reader.miss("TO STDOUT", hint="files on the server are written by INTO files(…)")
    return _with_options(reader, inner)


def _in_parentheses(reader: Reader) -> tuple[Token, ...]:
    begin, depth = reader.at + 1, 0
    while True:
        token = reader.take(")")
        depth += token.is_word("(") - token.is_word(")")
        if depth == 0:
            return reader.tokens[begin : reader.at - 1]


def _whole_relation(reader: Reader) -> tuple[Token, ...]:
    """Return COPY name as the SELECT that it stands for."""
    begin = reader.at
    reader.name()
    while reader.takes("."):
        reader.name()
    here = reader.tokens[begin].begin
    words = [("SELECT", Lexeme.NAME), ("*", Lexeme.SYMBOL), ("FROM", Lexeme.NAME)]
    select = (Token(kind, word, here, here) for word, kind in words)
    return (*select, *reader.tokens[begin : reader.at])


def _with_options(reader: Reader, inner: tuple[Token, ...]) -> CopyOut:
    given: dict[str, str] = {}
    reader.takes("WITH")
    if reader.takes("("):
        while not reader.takes(")"):
            option = reader.name()
            given[option] = _option_value(reader)
            reader.takes(",")
    else:
        while reader.at < len(reader.tokens):
            option = reader.name()
            bare = option in ("csv", "binary", "header")
            _ = reader.takes("AS")
            given["format" if option in ("csv", "binary") else option] = (
                ("true" if option == "header" else option) if bare else reader.string()
            )
    reader.end()
    return _copy_out(inner, given)


def _option_value(reader: Reader) -> str:
    if reader.sees(",") or reader.sees(")"):
        return "true"
    return reader.take("a value").value


def _copy_out(inner: tuple[Token, ...], given: dict[str, str]) -> CopyOut:
    form = given.get("format", "text").lower()
    unknown = set(given) - {"format", "delimiter", "null", "header"}
    if unknown:
        raise SqlError(
            f"COPY has no option {min(unknown)}", hint="FORMAT, DELIMITER, NULL and HEADER"
        )
    delimiter = given.get("delimiter", "," if form == "csv" else "\t")
    if len(delimiter) != 1 or not delimiter.isascii():
        raise SqlError("the delimiter of COPY must be one character")
    header = given.get("header", "false").lower() in ("true", "on", "1")
    match form:
        case "text":
            return CopyOut(inner, "text", delimiter, given.get("null", "\\N"), header)
        case "csv":
            return CopyOut(inner, "csv", delimiter, given.get("null", ""), header)
        case "binary":
            return CopyOut(inner, "binary")
        case _:
            raise SqlError(f"COPY has no format {form}", hint="text, csv or binary")


READERS: dict[str, Callable[[Reader], Form | None]] = {
    "ABORT": _rollback,
    "BEGIN": _begin,
    "CLOSE": _close,
    "COMMIT": _commit,
    "COPY": _copy,
    "DEALLOCATE": _deallocate,
    "DECLARE": _declare,
    "DISCARD": _discard,
    "END": _commit,
    "FETCH": _fetch,
    "MOVE": _fetch,
    "RELEASE": _release,
    "RESET": _reset,
    "ROLLBACK": _rollback,
    "SAVEPOINT": _savepoint,
    "SET": _set,
    "SHOW": _show,
    "START": _start,
    "SUBSCRIBE": _subscribe,
    "UNLISTEN": _unlisten,
}
