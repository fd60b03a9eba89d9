"""One connection: login, then queries in the simple and in the extended protocol.

    startup -> [TLS] -> [password] -> ready -> (Query | Parse Bind Describe Execute … Sync)* -> end

After an error in the extended protocol everything up to the next Sync is passed over
(PostgreSQL's documentation, chapter Frontend/Backend Protocol).
"""

import itertools
import logging
from collections.abc import Sequence

from penstock.errors import PenstockError
from penstock.server.pg import copy_out
from penstock.server.pg.backend import Backend
from penstock.server.pg.channel import Channel, error_response, notice
from penstock.server.pg.extended import Extended, Portal, spread
from penstock.server.pg.interrupt import GONE, Interrupt
from penstock.server.pg.outcomes import Copied, Done, Outcome, Rows, close
from penstock.server.pg.session import IDLE, Session, Statement, statement_of
from penstock.server.pg.settings import SessionSettings
from penstock.server.pg.sqlstate import (
    INTERNAL,
    PROTOCOL,
    REFUSED,
    TOO_LONG,
    WRONG_PASSWORD,
    refused,
)
from penstock.server.pg.text.lexer import statements_of, tokens_of
from penstock.server.pg.text.statements import Forget, Penstock
from penstock.server.pg.values.encode import encoded_rows
from penstock.server.pg.values.types import Column
from penstock.server.pg.wire.messages import (
    AskPassword,
    AuthenticationOk,
    BackendKey,
    Bind,
    BindComplete,
    Close,
    CloseComplete,
    CommandComplete,
    CopyDone,
    CopyOutResponse,
    Describe,
    EmptyQuery,
    Execute,
    Flush,
    Message,
    NoData,
    ParameterDescription,
    ParameterStatus,
    Parse,
    ParseComplete,
    Password,
    PortalSuspended,
    Query,
    ReadyForQuery,
    RowDescription,
    Sync,
    Terminate,
    framed,
)

LOG = logging.getLogger("penstock.server")
MOST_TEXT = 1 << 18  # characters, which are read in the loop that serves everybody
SEVERITIES = {"debug5": 0, "log": 1, "notice": 2, "warning": 3, "error": 4}


class Connection:
    """A client that has said who it is to be; `key` is what a request to cancel has to name."""

    def __init__(
        self, backend: Backend, channel: Channel, startup: dict[str, str], key: BackendKey
    ) -> None:
        self._backend = backend
        self._channel = channel
        self._startup = startup
        self._key = key
        self._token: str | None = None
        self._peer = ""
        self.interrupt = Interrupt()

    async def login(self, peer: str, is_private: bool) -> Session | None:
        """Let the client in, or tell it why not; `is_private` says that nobody listens."""
        try:
            return await self._session(peer, is_private)
        except PenstockError as error:
            self._channel.send(error_response(error, "FATAL"))
            return None

    async def serve(self, session: Session) -> None:
        """Answer messages until the client goes."""
        extended = Extended(session)
        try:
            await self._answer_all(session, extended)
        except PenstockError as error:  # of the protocol itself: nothing after it can be read
            self._channel.send(error_response(error, "FATAL"))
        finally:
            self.interrupt.end()
            extended.close_portals()
            session.close()

    async def _session(self, peer: str, is_private: bool) -> Session:
        user = self._startup.get("user", "")
        self._peer = peer
        if self._backend.needs_token:
            self._token = await self._password(is_private)
        caller = self._backend.caller(self._token, peer)
        if self._backend.needs_token and user != caller.name:
            raise refused(
                WRONG_PASSWORD,
                f"the password is not the token of {user}",
                hint="the user is the token's name, and the password the token",
            )
        settings = SessionSettings(user or caller.name)
        for name, value in _settings(self._startup):
            settings.set(name, value)
        self._channel.trust()
        told = (ParameterStatus(name, value) for name, value in settings.told.items())
        self._channel.send(AuthenticationOk(), *told, self._key, ReadyForQuery(IDLE))
        await self._channel.drain()
        process = self._key.process
        return Session(self._backend, caller, settings, self.interrupt, process, self._tell)

    async def _password(self, is_private: bool) -> str:
        if not is_private:
            raise refused(
                REFUSED, "a token is taken over TLS alone", hint="connect with sslmode=require"
            )
        self._channel.send(AskPassword())
        await self._channel.drain()
        message = await self._channel.next()
        if not isinstance(message, Password):
            raise refused(PROTOCOL, "a password was expected")
        return message.text

    async def _answer_all(self, session: Session, extended: Extended) -> None:
        skipping = False
        while True:
            message = await self._channel.next()
            if isinstance(message, Terminate):
                return
            if isinstance(message, Sync):
                skipping = False
                self._sync(session, extended)
            elif not skipping:
                skipping = not await self._answered(session, extended, message)
            await self._channel.drain()

    async def _answered(self, session: Session, extended: Extended, message: Message) -> bool:
        """Answer a message; return False where what follows is to be passed over."""
        self.interrupt.begin(session.settings.timeout)
        try:
            if isinstance(message, Query | Bind):  # each is one request of the caller's
                session.caller = self._backend.caller(self._token, self._peer)
            await self._answer(session, extended, message)
            return True
        except PenstockError as error:
            self._failed(session, error)
        except Exception:
            LOG.exception("a statement failed")
            self._failed(session, refused(INTERNAL, "the server failed; its log says why"))
        finally:
            self.interrupt.end()
            if isinstance(message, Query):
                self._channel.send(ReadyForQuery(session.status))
        return isinstance(message, Query)

    async def _answer(self, session: Session, extended: Extended, message: Message) -> None:
        match message:
            case Query(text=text) | Parse(text=text) if len(text) > MOST_TEXT:
                raise refused(
                    TOO_LONG,
                    f"the statement has {len(text):,} characters, and may have {MOST_TEXT:,}",
                    hint="send it in parts, or by HTTP",
                )
            case Query(text=text):
                extended.close_portals()
                await self._simple(session, extended, text)
            case Parse():
                extended.parse(message)
                self._channel.send(ParseComplete())
            case Bind():
                extended.bind(message)
                self._channel.send(BindComplete())
            case Describe(kind="S", name=name):
                await self._describe_statement(extended, name)
            case Describe(kind="P", name=name):
                portal = extended.portal(name)
                self._describe(await extended.portal_columns(portal), portal.formats)
            case Execute(portal=name, most=most):
                await self._execute(extended, extended.portal(name), most)
            case Close(kind=kind, name=name):
                _ = extended.prepared.pop(name, None) if kind == "S" else None
                if kind == "P":
                    extended.close_portal(name)
                self._channel.send(CloseComplete())
            case Flush():
                pass
            case _:
                raise refused(PROTOCOL, f"{type(message).__name__} was not expected here")

    def _failed(self, session: Session, error: PenstockError) -> None:
        session.fail()
        self._channel.send(error_response(error))

    def _sync(self, session: Session, extended: Extended) -> None:
        if session.status == IDLE:
            extended.close_portals()
        self._channel.send(ReadyForQuery(session.status))

    async def _simple(self, session: Session, extended: Extended, text: str) -> None:
        statements = [statement_of(text, each) for each in statements_of(tokens_of(text))]
        if not statements:
            self._channel.send(EmptyQuery())
        for is_own, group in itertools.groupby(statements, _is_penstock):
            for outcomes in await self._in_parts(session, list(group), is_own):
                await self._give(session, outcomes)
        for statement in statements:
            if isinstance(statement.form, Forget):
                extended.forget(statement.form)

    async def _in_parts(
        self, session: Session, statements: list[Statement], together: bool
    ) -> Sequence[Outcome]:
        """Carry out Penstock's statements together, others one by one as their turn comes."""
        if together:
            return await session.script(statements)
        for statement in statements[:-1]:
            await self._give(session, await session.outcome(statement))
        return [await session.outcome(statements[-1])]

    async def _give(self, session: Session, outcome: Outcome) -> None:
        """Tell what a statement of the simple protocol came to, with all its rows, as text."""
        try:
            match outcome:
                case Done():
                    self._done(session, outcome)
                case Copied():
                    await self._copy(outcome)
                case Rows(cursor=cursor, tag=tag, most=most):
                    self._describe(cursor.columns, ())
                    given = await self._rows(outcome, (), most)
                    self._channel.send(CommandComplete(tag.format(given)))
        finally:
            close(outcome)

    def _done(self, session: Session, done: Done) -> None:
        least = SEVERITIES.get(session.settings.get("client_min_messages").lower(), 2)
        for severity, text in done.notices:
            if SEVERITIES[severity.lower()] >= least:
                self._channel.send(notice(severity, text))
        changed = {"application_name": session.settings.get("application_name")}
        if done.tag in ("SET", "RESET"):
            self._channel.send(*(ParameterStatus(name, value) for name, value in changed.items()))
        self._channel.send(CommandComplete(done.tag))

    async def _describe_statement(self, extended: Extended, name: str) -> None:
        prepared = extended.find(name)
        columns = await extended.statement_columns(prepared)
        self._channel.send(ParameterDescription(prepared.told_types))
        self._describe(columns, ())

    def _describe(self, columns: tuple[Column, ...] | None, formats: tuple[int, ...]) -> None:
        if columns is None:
            self._channel.send(NoData())
            return
        shown = zip(columns, spread(formats, len(columns)), strict=True)
        self._channel.send(
            RowDescription(
                tuple((c.name, 0, 0, c.type.oid, c.type.size, c.modifier, f) for c, f in shown)
            )
        )

    async def _execute(self, extended: Extended, portal: Portal, most: int) -> None:
        outcome = await extended.outcome(portal)
        match outcome:
            case None:
                self._channel.send(EmptyQuery())
            case Done():
                self._done(extended.session, outcome)
            case Copied():
                await self._copy(outcome)
            case Rows(cursor=cursor, tag=tag):
                limit = outcome.most if most <= 0 else most
                portal.given += await self._rows(outcome, portal.formats, limit)
                is_over = cursor.ended or (most <= 0)
                tag = tag.format(portal.given)
                self._channel.send(CommandComplete(tag) if is_over else PortalSuspended())

    async def _rows(self, rows: Rows, formats: tuple[int, ...], most: int | None) -> int:
        """Send rows, and return how many."""
        columns, given = rows.cursor.columns, 0
        each = spread(formats, len(columns))
        async for part in rows.cursor.take(most):
            bodies = encoded_rows(part, columns, each)
            self._channel.write(b"".join(framed("D", body) for body in bodies))
            given += part.num_rows
            await self._channel.drain()
            self.interrupt.check()
        return given

    async def _copy(self, copied: Copied) -> None:
        columns, how, given = copied.cursor.columns, copied.how, 0
        binary = int(how.form == "binary")
        self._channel.send(CopyOutResponse(binary, (binary,) * len(columns)))
        head = copy_out.head(how, columns)
        if how.header:
            self._data(head)
            head = b""
        async for part in copied.cursor.take(None):
            for line in copy_out.lines(how, columns, part):
                self._data(head + line)
                head = b""  # clients look for a binary head before the first row, in one message
            given += part.num_rows
            await self._channel.drain()
            self.interrupt.check()
        self._data(head + copy_out.tail(how))
        self._channel.send(CopyDone(), CommandComplete(f"COPY {given}"))

    def _tell(self, severity: str, text: str) -> None:
        self._channel.send(notice(severity, text))

    def _data(self, data: bytes) -> None:
        if data:
            self._channel.write(framed("d", data))

    def gone(self) -> None:
        """End what runs: its client has gone."""
        self.interrupt.fire(GONE)


def _is_penstock(statement: Statement) -> bool:
    return isinstance(statement.form, Penstock)


def _settings(startup: dict[str, str]) -> list[tuple[str, str]]:
    """Return the settings that a startup message has, and those in its `options`: -c name=value."""
    own = [(n, v) for n, v in startup.items() if n not in ("user", "database", "options")]
    words = startup.get("options", "").replace("--", "-c ").split()
    given = [word for word in words if "=" in word and word != "-c"]
    pairs = (word.removeprefix("-c").split("=", 1) for word in given)
    return own + [(name, value) for name, value in pairs]
