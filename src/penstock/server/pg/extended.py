"""The extended protocol's prepared statements and portals."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from penstock.errors import SqlError
from penstock.server.pg.outcomes import Outcome, Rows, close
from penstock.server.pg.session import MOST_OPEN, Session, Statement, statement_of
from penstock.server.pg.sqlstate import (
    FULL,
    NAME_IN_USE,
    NO_CURSOR,
    NO_STATEMENT,
    PROTOCOL,
    refused,
)
from penstock.server.pg.text.lexer import statements_of, tokens_of
from penstock.server.pg.text.statements import Forget
from penstock.server.pg.text.translate import parameters_in, type_names
from penstock.server.pg.values.parameters import Parameter, read_parameter
from penstock.server.pg.values.types import NAMED_TYPES, TYPES, UNKNOWN, Column
from penstock.server.pg.wire.messages import Bind, Parse

MOST = 1_000  # prepared statements of a session
MOST_CHARACTERS = 4 << 20  # of them: their tokens take some hundred times that memory
FORMATS = (0, 1)
TEXT_OID = 25


@dataclass(frozen=True, slots=True)
class Prepared:
    """A statement, and the types of its parameters; `statement` is None for an empty text."""

    statement: Statement | None
    types: tuple[int, ...]

    @property
    def text(self) -> str:
        """Return the text that it is kept with."""
        return "" if self.statement is None else self.statement.text

    @property
    def told_types(self) -> tuple[int, ...]:
        """Return the types that clients are told: text where nothing tells them."""
        return tuple(oid or TEXT_OID for oid in self.types)


@dataclass(slots=True)
class Portal:
    """A statement with its values; its outcome is kept once it is there."""

    statement: Statement | None
    formats: tuple[int, ...]
    outcome: Outcome | None = None
    given: int = 0  # rows so far

    def close(self) -> None:
        """Let its rows go."""
        close(self.outcome)


@dataclass(slots=True)
class Extended:
    """What a session has prepared and bound."""

    session: Session
    prepared: dict[str, Prepared] = field(default_factory=dict)
    portals: dict[str, Portal] = field(default_factory=dict)

    def parse(self, message: Parse) -> None:
        """Keep a statement."""
        if message.name and message.name in self.prepared:
            raise refused(NAME_IN_USE, f"there is a prepared statement {message.name} already")
        if len(self.prepared) >= MOST:
            raise refused(FULL, f"there are {MOST:,} prepared statements", hint="close some")
        kept = sum(len(each.text) for name, each in self.prepared.items() if name != message.name)
        if kept + len(message.text) > MOST_CHARACTERS:
            raise refused(FULL, "the prepared statements are too long", hint="close some")
        self.prepared[message.name] = prepared_of(message.text, message.types)

    def bind(self, message: Bind) -> None:
        """Make a portal of a statement and values."""
        prepared = self.find(message.statement)
        if message.portal and message.portal in self.portals:
            raise refused(NAME_IN_USE, f"there is a portal {message.portal} already")
        self.close_portal(message.portal)
        if len(self.portals) >= MOST_OPEN:
            raise refused(FULL, f"there are {MOST_OPEN} portals", hint="close some")
        self.portals[message.portal] = Portal(
            _bound(prepared, message), _checked(message.result_formats)
        )

    def find(self, name: str) -> Prepared:
        """Return a prepared statement."""
        if name not in self.prepared:
            raise refused(NO_STATEMENT, f"no prepared statement {name or 'without a name'}")
        return self.prepared[name]

    def portal(self, name: str) -> Portal:
        """Return a portal; a cursor is one, too."""
        if name in self.session.cursors:
            return Portal(None, (0,), Rows(self.session.cursors[name], closes=False))
        if name not in self.portals:
            raise refused(NO_CURSOR, f"no portal {name or 'without a name'}")
        return self.portals[name]

    async def statement_columns(self, prepared: Prepared) -> tuple[Column, ...] | None:
        """Return the columns that a statement gives, whatever its values."""
        if prepared.statement is None:
            return None
        return await self.session.columns(replace(prepared.statement, parameters=_nulls(prepared)))

    async def portal_columns(self, portal: Portal) -> tuple[Column, ...] | None:
        """Return the columns of a portal; a question is answered for it, and given out later."""
        if portal.outcome is None and portal.statement is None:
            return None
        if portal.outcome is None and portal.statement and not _asks(portal.statement):
            return await self.session.columns(portal.statement)
        outcome = await self.outcome(portal)
        return outcome.cursor.columns if isinstance(outcome, Rows) else None

    async def outcome(self, portal: Portal) -> Outcome | None:
        """Return what a portal came to; it is carried out once."""
        if portal.outcome is None and portal.statement is not None:
            portal.outcome = await self.session.outcome(portal.statement)
            if isinstance(portal.statement.form, Forget):
                self.forget(portal.statement.form)
        return portal.outcome

    def forget(self, forget: Forget) -> None:
        """Do what DISCARD and DEALLOCATE say."""
        if forget.what == "ALL" or (forget.what == "STATEMENT" and forget.name == "all"):
            self.prepared.clear()
        elif forget.what == "STATEMENT":
            self.find(forget.name)
            del self.prepared[forget.name]

    def close_portal(self, name: str) -> None:
        """Close a portal, if it is there."""
        portal = self.portals.pop(name, None)
        if portal is not None:
            portal.close()

    def close_portals(self) -> None:
        """Close all portals."""
        for name in list(self.portals):
            self.close_portal(name)


def prepared_of(text: str, given: Sequence[int]) -> Prepared:
    """Return one statement with the types of its parameters, as far as they are known."""
    statements = statements_of(tokens_of(text))
    if len(statements) > 1:
        raise SqlError("one statement was expected, and here are several", hint="send them apart")
    if not statements:
        return Prepared(None, tuple(given))
    tokens = statements[0]
    cast = type_names(tokens)
    types = [
        (given[index] if index < len(given) else 0) or _oid(cast.get(index + 1, ""))
        for index in range(max(parameters_in(tokens), len(given)))
    ]
    return Prepared(statement_of(text, tokens), tuple(types))


def _oid(name: str) -> int:
    found = NAMED_TYPES.get(name)
    return 0 if found is None else found.oid


def _bound(prepared: Prepared, message: Bind) -> Statement | None:
    if len(message.values) != len(prepared.types):
        raise refused(
            PROTOCOL,
            f"the statement has {len(prepared.types)} parameters, and {len(message.values)} came",
        )
    formats = _spread(_checked(message.formats), len(message.values))
    values = zip(prepared.types, formats, message.values, strict=True)
    parameters = tuple(read_parameter(oid, form, data) for oid, form, data in values)
    return prepared.statement and replace(prepared.statement, parameters=parameters)


def _nulls(prepared: Prepared) -> tuple[Parameter, ...]:
    """Return a NULL for each parameter; 0 for whole numbers, which LIMIT takes no NULL for."""
    known = (TYPES.get(oid, UNKNOWN) for oid in prepared.types)
    return tuple(
        Parameter(type_, 0 if type_.category == "N" and type_.name.startswith("int") else None)
        for type_ in known
    )


def _asks(statement: Statement) -> bool:
    return getattr(statement.form, "asks", False) is True


def _checked(formats: tuple[int, ...]) -> tuple[int, ...]:
    if any(each not in FORMATS for each in formats):
        raise refused(PROTOCOL, "a format is neither text (0) nor binary (1)")
    return formats


def _spread(formats: tuple[int, ...], count: int) -> tuple[int, ...]:
    """Return a format for each of so many: none said is text, one said is everybody's."""
    if len(formats) <= 1:
        return (formats or (0,)) * count
    if len(formats) != count:
        raise refused(PROTOCOL, f"{len(formats)} formats were given for {count} values")
    return formats


def spread(formats: tuple[int, ...], count: int) -> tuple[int, ...]:
    """Return a format for each column."""
    return _spread(formats, count)
