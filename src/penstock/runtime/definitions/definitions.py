"""Definitions: CREATE and DROP, whatever the kind, and how all of it comes back."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from penstock.catalog import Catalog, CatalogEntry
from penstock.catalog import Kind as Keyword
from penstock.errors import BadQueryError, NameTakenError, PenstockError, UnknownNameError
from penstock.model.definitions import (
    Definition,
    FunctionDefinition,
    PythonFunction,
)
from penstock.model.grids import BaseDefinition, PerspectiveDefinition
from penstock.model.rules import RuleDefinition
from penstock.runtime.definitions.kind import NOBODY, DefinitionKind, Newcomers
from penstock.runtime.durable.manifest import Manifest
from penstock.runtime.names.directory import (
    Directory,
    KnownBase,
    KnownEvent,
    KnownPerspective,
    KnownQuery,
    KnownRule,
    KnownStream,
    KnownTable,
)
from penstock.runtime.names.known_functions import KnownFunctions
from penstock.runtime.names.stream_types import StreamTypes, create_type, drop_type
from penstock.sql import (
    CreateBase,
    CreateEvent,
    CreateFunction,
    CreatePerspective,
    CreateQuery,
    CreateRule,
    CreateStream,
    CreateTable,
    CreateType,
    Drop,
    parse,
)

Create = (
    CreateStream
    | CreateTable
    | CreateQuery
    | CreateEvent
    | CreateRule
    | CreateBase
    | CreatePerspective
)
Defined = Definition | RuleDefinition | BaseDefinition | PerspectiveDefinition
KEYWORDS: dict[type, Keyword] = {
    CreateStream: "STREAM",
    CreateTable: "TABLE",
    CreateQuery: "QUERY",
    CreateEvent: "EVENT",
    CreateRule: "RULE",
    CreateBase: "BASE",
    CreatePerspective: "PERSPECTIVE",
    KnownStream: "STREAM",
    KnownTable: "TABLE",
    KnownQuery: "QUERY",
    KnownEvent: "EVENT",
    KnownRule: "RULE",
    KnownBase: "BASE",
    KnownPerspective: "PERSPECTIVE",
}


@dataclass(frozen=True, slots=True)
class Definitions:
    """What has a name is in the catalog and in the directory; each of the `kinds` does the rest."""

    catalog: Catalog
    directory: Directory
    types: StreamTypes
    functions: KnownFunctions
    kinds: Mapping[Keyword, DefinitionKind]

    def create(self, statement: Create) -> str:
        """Define something, in place of what had its name and kind where that is asked for.

        What is wrong is found before anything changes; where it cannot be put into its place all
        the same, such as a source that cannot be opened, nothing of it stays.
        """
        statement = self._resolved(statement)
        keyword, definition = KEYWORDS[type(statement)], statement.definition
        if told := self._stands(statement, keyword):
            return told
        enter = self.kinds[keyword].prepared(statement)
        self.forget(definition.name)
        entry = self.catalog.put(keyword, definition.name, definition.text, replace=True)
        try:
            return enter(entry)
        except PenstockError:
            self.forget(definition.name)
            raise

    def drop(self, statement: Drop) -> str:
        """Drop what has no readers: all kinds but functions."""
        if statement.kind == "TYPE":
            return self._drop_type(statement)
        known, kind = self.directory.get(statement.name), statement.kind.lower()
        if known is None or KEYWORDS[type(known)] != statement.kind:
            if statement.if_exists:
                return f"there is no {kind} {statement.name}"
            raise UnknownNameError(f"no {kind} {statement.name}", place=statement.place)
        self.directory.refuse_in_use(statement.name)
        self.forget(statement.name)
        return f"{kind} {statement.name} dropped"

    def forget(self, name: str) -> None:
        """Remove what has the name; it must have no readers."""
        if (known := self.directory.get(name)) is not None:
            self.kinds[KEYWORDS[type(known)]].forget(known)
            self.directory.remove(name)
            self.catalog.remove(name)

    def create_type(self, statement: CreateType) -> str:
        """Make a type, and return what was done."""
        leave, replaces = statement.if_not_exists, statement.or_replace
        definition = statement.definition
        return create_type(self.types, self.catalog, definition, leave=leave, replaces=replaces)

    def bring_back(self, entry: CatalogEntry, manifest: Manifest) -> Newcomers:
        """Define again what the catalog has; return it where the checkpoint does not have it."""
        statement = parse(entry.text)[0]
        match statement:
            case CreateType():
                self.types.add(self.types.made(statement.definition))
            case CreateFunction(definition=PythonFunction() as kept):
                self.functions.bring_back(kept)
            case CreateFunction(definition=FunctionDefinition() as written):
                self.functions.write(written)
            case (
                CreateStream()
                | CreateTable()
                | CreateQuery()
                | CreateEvent()
                | CreateRule()
                | CreateBase()
                | CreatePerspective()
            ):
                kind = self.kinds[KEYWORDS[type(statement)]]
                return kind.bring_back(self._resolved(statement), entry, manifest)
            case _:
                raise BadQueryError(f"the catalog holds no definition of {entry.name}")
        return NOBODY

    def _resolved(self, statement: Create) -> Create:
        """Return a statement whose stream has the columns of its type."""
        if not isinstance(statement, CreateStream):
            return statement
        return replace(statement, definition=self.types.resolved(statement.definition))

    def _stands(self, statement: Create, keyword: Keyword) -> str:
        """Return a sentence where nothing is to be done; raise where the name is taken."""
        name, kind = statement.definition.name, keyword.lower()
        taken = self.directory.get(name)
        if taken is None:
            return ""
        if (other := KEYWORDS[type(taken)]) != keyword:
            raise NameTakenError(f"{name} is the name of {_one(other)}", place=statement.place)
        if statement.if_not_exists:
            return f"{kind} {name} exists and is left as it is"
        if statement.or_replace and _same(taken.definition, statement.definition):
            return f"{kind} {name} stands like this already"
        if not statement.or_replace:
            raise NameTakenError(
                f"there is {_one(keyword)} {name} already",
                hint="CREATE OR REPLACE replaces it, IF NOT EXISTS leaves it",
                place=statement.place,
            )
        self.directory.refuse_in_use(name)
        return ""

    def _drop_type(self, statement: Drop) -> str:
        if statement.if_exists and self.types.find(statement.name) is None:
            return f"there is no type {statement.name}"
        wanted = statement.name.lower()
        written, streams = self.functions.written.values(), self.directory.streams()
        users = [f.name for f in written if wanted in (f.takes.lower(), f.returns.lower())]
        users += [s.definition.name for s in streams if (s.definition.of or "").lower() == wanted]
        return drop_type(self.types, self.catalog, statement.name, users)


def _one(keyword: Keyword) -> str:
    return f"{'an' if keyword == 'EVENT' else 'a'} {keyword.lower()}"


def _same(one: Defined, other: Defined) -> bool:
    """Say whether two definitions mean the same, however they are written."""
    return replace(one, text="") == replace(other, text="")
