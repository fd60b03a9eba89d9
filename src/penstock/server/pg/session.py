"""One client's session: settings, the transaction's status, prepared statements and cursors."""

import asyncio
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from penstock.errors import CancelledError, PenstockError, SqlError
from penstock.runtime.durable.result_row import START, Position
from penstock.runtime.statements.result import Result
from penstock.server.access import Caller
from penstock.server.http.follow import position_of
from penstock.server.pg.backend import Backend
from penstock.server.pg.catalog.answers import Catalog
from penstock.server.pg.catalog.relations import Relation, SessionFacts
from penstock.server.pg.interrupt import Interrupt
from penstock.server.pg.outcomes import Copied, Done, Outcome, Rows
from penstock.server.pg.rows import POSITION, Cursor, Followed, Table, Tell
from penstock.server.pg.settings import VERSION_TEXT, SessionSettings
from penstock.server.pg.sqlstate import (
    FAILED_TRANSACTION,
    FULL,
    NAME_IN_USE,
    NO_CURSOR,
    NO_PARAMETER,
    refused,
)
from penstock.server.pg.text.lexer import Lexeme, Token, place_at
from penstock.server.pg.text.statements import (
    ALL,
    CatalogQuestion,
    CopyOut,
    Declare,
    Fetch,
    Forget,
    Form,
    Penstock,
    SetParameter,
    ShowParameter,
    Subscribe,
    Transaction,
    form_of,
)
from penstock.server.pg.text.translate import Translated, translated
from penstock.server.pg.values.parameters import (
    Parameter,
    postgres_literal,
    postgres_text,
    spark_literal,
)
from penstock.server.pg.values.types import TEXT, Column, column_of_arrow

IDLE, IN_TRANSACTION, FAILED = "I", "T", "E"
PLAN = Column("QUERY PLAN", TEXT)
DATABASE = "penstock"
MOST_OPEN = 100  # cursors of a session, and portals: each may keep its rows
NO_UNDOING = "there are no transactions: what statements have changed stays"
_identities = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement of a text, with the values of its parameters; None where they are not known."""

    text: str
    tokens: tuple[Token, ...]
    form: Form
    parameters: tuple[Parameter, ...] | None = ()

    def value(self, number: int) -> Parameter | None:
        """Return a parameter's value."""
        if self.parameters is None:
            return None
        if not 1 <= number <= len(self.parameters):
            raise refused(NO_PARAMETER, f"there is no parameter ${number}")
        return self.parameters[number - 1]


def statement_of(text: str, tokens: tuple[Token, ...]) -> Statement:
    """Return a statement without parameters."""
    return Statement(text, tokens, form_of(text, tokens))


@dataclass(slots=True)
class Session:
    """In its loop's thread alone."""

    backend: Backend
    caller: Caller
    settings: SessionSettings
    interrupt: Interrupt
    process: int
    tell: Tell
    status: str = IDLE
    cursors: dict[str, Cursor] = field(default_factory=dict)
    _has_changed: bool = False  # since the transaction began
    _catalog: Catalog = field(init=False)

    def __post_init__(self) -> None:
        self._catalog = Catalog(self.backend.relations)

    def close(self) -> None:
        """Let everything go."""
        for cursor in self.cursors.values():
            cursor.close()
        self.cursors.clear()
        self._catalog.close()

    def fail(self) -> None:
        """A statement has failed: so has the transaction, if there is one."""
        if self.status == IN_TRANSACTION:
            self.status = FAILED

    async def outcome(self, statement: Statement) -> Outcome:
        """Carry out one statement."""
        self.require_no_failure(statement.form)
        match statement.form:
            case Transaction() as transaction:
                return self._transaction(transaction)
            case SetParameter(name=name, value=value, tag=tag):
                notice = self.settings.set(name, value)
                return Done(tag, (("WARNING", notice),) if notice else ())
            case ShowParameter(name=name):
                column = Column(name, TEXT)
                return Rows(Cursor(_texts(column, [self.settings.get(name)])), "SHOW")
            case Forget() as forget:
                return self._forget(forget)
            case Declare(name=name, inner=inner):
                return await self._declare(name, replace(statement, tokens=inner))
            case Fetch() as fetch:
                return await self._fetch(fetch)
            case CopyOut(inner=inner) as copy:
                return Copied(await self._opened(replace(statement, tokens=inner)), copy)
            case CatalogQuestion() | Subscribe():
                return Rows(await self._cursor(statement))
            case Penstock():
                [outcome] = await self.script([statement])
                return outcome

    async def script(self, statements: Sequence[Statement]) -> list[Outcome]:
        """Carry out statements of Penstock's that stand together, as a whole or not at all."""
        first = statements[0]
        self.require_no_failure(first.form)
        tokens = [token for each in _joined(statements) for token in each]
        told = translated(first.text, tokens, lambda number: _spark(first, number))
        results = await self._asked(told, first.text)
        if any(isinstance(each.form, Penstock) and not each.form.asks for each in statements):
            self._has_changed = True
        return [_told(each, result) for each, result in zip(statements, results, strict=True)]

    async def columns(self, statement: Statement) -> tuple[Column, ...] | None:
        """Return the columns that a statement would give, or None where it gives no rows."""
        match statement.form:
            case Subscribe() as subscribe:
                return await self._columns_of(subscribe)
            case ShowParameter(name=name):
                return (Column(name, TEXT),)
            case Fetch(name=name, moves=False):
                return self._found(name).columns
            case CatalogQuestion():
                return (await self._cursor(statement)).columns
            case Penstock(verb=verb, asks=True) if not _writes(statement):
                probed = statement if verb not in _SELECTS else _without_rows(statement)
                outcome = (await self.script([probed]))[0]
                return outcome.cursor.columns if isinstance(outcome, Rows) else None
            case _:
                return None

    def require_no_failure(self, form: Form) -> None:
        """Raise where the transaction has failed and this does not end it."""
        ends = isinstance(form, Transaction) and form.verb in ("COMMIT", "ROLLBACK", "ROLLBACK TO")
        if self.status == FAILED and not ends:
            raise refused(
                FAILED_TRANSACTION,
                "the transaction has failed, and takes nothing more",
                hint="ROLLBACK ends it",
            )

    def close_cursors(self) -> None:
        """Close all cursors."""
        for cursor in self.cursors.values():
            cursor.close()
        self.cursors.clear()

    def _transaction(self, transaction: Transaction) -> Done:
        verb = transaction.verb
        if verb == "BEGIN":
            again = self.status != IDLE
            self.status, self._has_changed = IN_TRANSACTION, self._has_changed and again
            notice = "there is a transaction in progress already"
            return Done("BEGIN", (("WARNING", notice),) if again else ())
        if verb in ("SAVEPOINT", "RELEASE"):
            return Done(verb)
        notices: tuple[tuple[str, str], ...] = ()
        if verb != "COMMIT" and self._has_changed:
            notices = (("WARNING", NO_UNDOING),)
        if verb == "ROLLBACK TO":
            self.status = IN_TRANSACTION
            return Done("ROLLBACK", notices)
        undone = verb == "ROLLBACK" or self.status == FAILED
        if self.status == IDLE:
            notices = (("WARNING", "there is no transaction in progress"),)
        self.status, self._has_changed = IDLE, False
        self.close_cursors()
        return Done("ROLLBACK" if undone else "COMMIT", notices)

    def _forget(self, forget: Forget) -> Done:
        if forget.what == "ALL":
            self.close_cursors()
            self.settings.set("", None)
        elif forget.what == "CURSOR" and forget.name == ALL:
            self.close_cursors()
        elif forget.what == "CURSOR":
            self._found(forget.name).close()
            del self.cursors[forget.name]
        return Done(forget.tag)

    async def _declare(self, name: str, inner: Statement) -> Done:
        if name in self.cursors:
            raise refused(NAME_IN_USE, f"there is a cursor {name} already", hint=f"CLOSE {name}")
        if len(self.cursors) >= MOST_OPEN:
            raise refused(FULL, f"there are {MOST_OPEN} cursors", hint="CLOSE some")
        self.cursors[name] = await self._opened(inner)
        return Done("DECLARE CURSOR")

    async def _fetch(self, fetch: Fetch) -> Outcome:
        cursor = self._found(fetch.name)
        if not fetch.moves:
            return Rows(cursor, "FETCH {}", fetch.most, closes=False)
        passed = 0
        async for rows in cursor.take(fetch.most):
            passed += rows.num_rows
        return Done(f"MOVE {passed}")

    def _found(self, name: str) -> Cursor:
        if name not in self.cursors:
            raise refused(NO_CURSOR, f"no cursor {name}", hint="DECLARE name CURSOR FOR SELECT …")
        return self.cursors[name]

    async def _opened(self, statement: Statement) -> Cursor:
        """Return the rows of what stands inside of DECLARE or COPY."""
        inner = replace(statement, form=form_of(statement.text, statement.tokens))
        match inner.form:
            case CatalogQuestion() | Subscribe():
                return await self._cursor(inner)
            case Penstock(asks=True):
                [outcome] = await self.script([inner])
                if isinstance(outcome, Rows):
                    return outcome.cursor
            case _:
                pass
        place = place_at(statement.text, statement.tokens[0].begin)
        raise SqlError("a SELECT or SUBSCRIBE was expected", place=place)

    async def _cursor(self, statement: Statement) -> Cursor:
        if isinstance(statement.form, Subscribe):
            return Cursor(await self._followed(statement.form))
        text = _as_postgres(statement)
        answer = await asyncio.to_thread(self._catalog.ask, text, self._facts())
        return Cursor(Table(answer.columns, answer.rows))

    async def _followed(self, subscribe: Subscribe) -> Followed:
        columns = (await self._columns_of(subscribe))[subscribe.with_position :]
        after = _after(subscribe.after)
        subscription = await self.backend.subscribe(self.caller, subscribe.query, after)
        return Followed(
            self.backend,
            subscription,
            columns,
            self.interrupt,
            self.tell,
            with_position=subscribe.with_position,
        )

    async def _columns_of(self, subscribe: Subscribe) -> tuple[Column, ...]:
        relations = await asyncio.to_thread(self.backend.relations)
        relation = _relation(relations, subscribe.query)
        own = (POSITION,) if subscribe.with_position else ()
        return (*own, *(relation.columns if relation is not None else ()))

    def _facts(self) -> SessionFacts:
        known = tuple(sorted(self.settings.all().items()))
        return SessionFacts(self.settings.user, DATABASE, self.process, VERSION_TEXT, known)

    async def _asked(self, told: Translated, text: str) -> list[Result]:
        identity = f"pg-{self.process:x}-{next(_identities)}"
        self.interrupt.during(lambda: self.backend.cancel(self.caller, identity))
        try:
            return await self.backend.script(self.caller, told.text, identity)
        except CancelledError:
            raise self.interrupt.error from None
        except PenstockError as error:
            _place_in(error, told, text)
            raise
        finally:
            self.interrupt.during(None)


_SELECTS = ("SELECT", "WITH", "VALUES", "FROM", "(")


def _relation(relations: Sequence[Relation], name: str) -> Relation | None:
    wanted = name.lower()
    return next(
        (each for each in relations if each.name.lower() == wanted and each.schema == "public"),
        None,
    )


def _joined(statements: Sequence[Statement]) -> list[tuple[Token, ...]]:
    """Return the tokens of statements with a semicolon after each but the last."""
    parts = []
    for each in statements[:-1]:
        end = each.tokens[-1].end
        parts.append((*each.tokens, Token(Lexeme.SYMBOL, ";", end, end)))
    return [*parts, statements[-1].tokens]


def _spark(statement: Statement, number: int) -> str:
    value = statement.value(number)
    return "NULL" if value is None else spark_literal(value)


def _as_postgres(statement: Statement) -> str:
    """Return a question about the catalog with literals in the place of parameters."""
    pieces, end = [], statement.tokens[0].begin
    for token in statement.tokens:
        pieces.append(statement.text[end : token.begin])
        match token.kind:
            case Lexeme.PARAMETER:
                value = statement.value(int(token.value))
                pieces.append("NULL" if value is None else postgres_literal(value))
            case Lexeme.STRING:
                pieces.append(postgres_text(token.value))
            case _:
                pieces.append(token.written(statement.text))
        end = token.end
    return "".join(pieces)


def _without_rows(statement: Statement) -> Statement:
    """Return a SELECT that gives the same columns, and no row."""
    begin, end = statement.tokens[0].begin, statement.tokens[-1].end
    before = [("SELECT", Lexeme.NAME), ("*", Lexeme.SYMBOL), ("FROM", Lexeme.NAME)]
    after = [(")", Lexeme.SYMBOL), ("AS", Lexeme.NAME), ("probed", Lexeme.NAME)]
    limit = [("LIMIT", Lexeme.NAME), ("0", Lexeme.NUMBER)]
    head = [Token(kind, word, begin, begin) for word, kind in [*before, ("(", Lexeme.SYMBOL)]]
    tail = [Token(kind, word, end, end) for word, kind in [*after, *limit]]
    return replace(statement, tokens=(*head, *statement.tokens, *tail))


def _writes(statement: Statement) -> bool:
    """Say whether an EXPLAIN or SHOW writes a file, which describing it must not do."""
    first = statement.tokens[0]
    return first.is_word("EXPLAIN", "SHOW") and any(t.is_word("INTO") for t in statement.tokens)


def _after(written: str | None) -> Position | None:
    """Return where a subscription begins: with the first row that is kept, if nothing is said."""
    return START if written is None else position_of(written)


def _texts(column: Column, values: Sequence[str]) -> Table:
    return Table((column,), pa.table({column.name: pa.array(values, pa.string())}))


def _told(statement: Statement, result: Result) -> Outcome:
    if result.table is not None:
        columns = tuple(column_of_arrow(each) for each in result.table.schema)
        return Rows(Cursor(Table(columns, result.table)))
    first = statement.tokens[0]
    if first.is_word("EXPLAIN") and not _writes(statement):
        return Rows(Cursor(_texts(PLAN, result.message.splitlines())), "EXPLAIN")
    notices = (("NOTICE", result.message),) if result.message else ()
    return Done(_tag(statement.tokens), notices)


def _tag(tokens: Sequence[Token]) -> str:
    """Return what a change is called when it is done: CREATE QUERY."""
    words = [t.value.upper() for t in tokens[:4] if t.kind is Lexeme.NAME]
    if words[1:3] == ["OR", "REPLACE"]:
        words = [words[0], *words[3:]]
    return " ".join(words[: 2 if words[0] in ("CREATE", "DROP", "ALTER") else 1])


def _place_in(error: PenstockError, told: Translated, text: str) -> None:
    """Tell where an error stands in the client's own text."""
    place: Any = error.place
    if place is None:
        return
    if place.source and place.source != told.text:
        error.place = None
        return
    lines = told.text.split("\n")
    offset = sum(len(line) + 1 for line in lines[: place.line - 1]) + place.column - 1
    error.place = place_at(text, min(told.origin(offset), len(text)))
