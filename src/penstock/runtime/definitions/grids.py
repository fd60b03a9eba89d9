"""Bases and perspectives as they are made, taken away and brought back; while quiesced."""

from collections.abc import Callable
from dataclasses import dataclass

from penstock.catalog import CatalogEntry
from penstock.engine.allowed import Allowed
from penstock.engine.options import near_miss
from penstock.errors import CycleError, TypeMismatchError, UnknownColumnError, UnknownNameError
from penstock.grid.space.perspectives import derived, empty_base
from penstock.model.definitions import Connector
from penstock.model.grids import BaseDefinition
from penstock.model.schema import Schema
from penstock.runtime.definitions.kind import NOBODY, Enter, Newcomers
from penstock.runtime.durable.manifest import Manifest
from penstock.runtime.names.directory import (
    Directory,
    KnownBase,
    KnownPerspective,
    KnownQuery,
    KnownStream,
    KnownTable,
)
from penstock.sql import CreateBase, CreatePerspective

NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")


@dataclass(frozen=True, slots=True)
class BaseDefinitions:
    """Makes bases known; their readings are read when somebody asks."""

    directory: Directory
    allowed: Callable[[], Allowed]

    def prepared(self, statement: CreateBase) -> Enter:
        """Check where the readings come from."""
        known = self._known(statement.definition)

        def enter(entry: CatalogEntry) -> str:
            self.directory.add(known)
            return f"base {entry.name} created"

        return enter

    def forget(self, known: KnownBase) -> None:
        """Keep nothing: what it read is its source's."""

    def bring_back(
        self, statement: CreateBase, entry: CatalogEntry, manifest: Manifest
    ) -> Newcomers:
        """Make it known again."""
        self.directory.add(self._known(statement.definition))
        return NOBODY

    def _known(self, definition: BaseDefinition) -> KnownBase:
        source = definition.source
        if isinstance(source, Connector):
            self.allowed().require_readable(str(source.option("path")))
            return KnownBase(definition, frozenset())
        _check_columns(definition, schema_of(self.directory, source))
        return KnownBase(definition, frozenset({source.lower()}))


@dataclass(frozen=True, slots=True)
class PerspectiveDefinitions:
    """Makes perspectives known; their cells are computed when somebody asks."""

    directory: Directory

    def prepared(self, statement: CreatePerspective) -> Enter:
        """Check that its cells follow from its sources' cells."""
        known = self._known(statement)

        def enter(entry: CatalogEntry) -> str:
            self.directory.add(known)
            return f"perspective {entry.name} created"

        return enter

    def forget(self, known: KnownPerspective) -> None:
        """Keep nothing: its cells are computed each time."""

    def bring_back(
        self, statement: CreatePerspective, entry: CatalogEntry, manifest: Manifest
    ) -> Newcomers:
        """Make it known again."""
        self.directory.add(self._known(statement))
        return NOBODY

    def _known(self, statement: CreatePerspective) -> KnownPerspective:
        definition = statement.definition
        if definition.name.lower() in (each.lower() for each in definition.sources):
            raise CycleError(f"{definition.name} would read itself")
        known = [self.directory.grid(each) for each in definition.sources]
        empty = [empty_base(each.definition.name, each.topology) for each in known]
        topology = derived(definition, empty).topology
        reads = frozenset(each.lower() for each in definition.sources)
        return KnownPerspective(definition, topology, reads)


def schema_of(directory: Directory, name: str) -> Schema:
    """Return the columns of what readings may come from."""
    match directory.get(name):
        case KnownStream(definition=definition):
            return definition.schema
        case KnownTable(schema=schema):
            return schema
        case KnownQuery(root=root):
            return root.schema
        case _:
            rows = KnownStream | KnownTable | KnownQuery
            known = [each for each in directory.known.values() if isinstance(each, rows)]
            names = [each.definition.name for each in known]
            raise UnknownNameError(
                f"no stream, table or query {name}",
                hint=near_miss(name, names) or "a base reads one, or netcdf(path => '…')",
            )


def _check_columns(definition: BaseDefinition, schema: Schema) -> None:
    for place, name in enumerate(definition.columns):
        column = schema.find(name)
        if column is None:
            hint = near_miss(name, schema.names) or f"it has {', '.join(schema.names)}"
            raise UnknownColumnError(f"{definition.source} has no column {name}", hint=hint)
        wanted = ("timestamp",) if place == 0 else NUMBERS
        if column.type.partition("(")[0] not in wanted:
            raise TypeMismatchError(
                f"{column.name} is of type {column.type}; a base takes a time and three numbers",
                hint="in the order (time, latitude, longitude, value)",
            )
