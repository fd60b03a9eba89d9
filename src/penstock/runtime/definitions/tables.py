"""Tables as they are made, taken away and brought back; while quiesced."""

from dataclasses import dataclass

from penstock.catalog import CatalogEntry
from penstock.runtime.definitions.kind import NOBODY, Enter, Newcomers
from penstock.runtime.durable.manifest import Manifest
from penstock.runtime.names.directory import Directory, KnownTable
from penstock.runtime.sources.table_versions import TableVersions
from penstock.sql import CreateTable


@dataclass(frozen=True, slots=True)
class TableDefinitions:
    """Makes tables known, with the rows that they have now or had at a checkpoint."""

    directory: Directory
    versions: TableVersions

    def prepared(self, statement: CreateTable) -> Enter:
        """Read the rows, before the table goes that this one replaces."""
        definition = statement.definition
        reading = self.versions.read(definition)

        def enter(entry: CatalogEntry) -> str:
            schema = self.versions.create(definition, entry.incarnation, reading)
            self.directory.add(KnownTable(definition, entry.incarnation, schema))
            return f"table {definition.name} created"

        return enter

    def forget(self, known: KnownTable) -> None:
        """Take a table away."""
        self.versions.drop(known.definition.name, known.incarnation)

    def bring_back(
        self, statement: CreateTable, entry: CatalogEntry, manifest: Manifest
    ) -> Newcomers:
        """Take the version up that the checkpoint saw: recorded runs read it again."""
        definition = statement.definition
        schema = self.versions.bring_back(definition, entry.incarnation, manifest.tables)
        self.directory.add(KnownTable(definition, entry.incarnation, schema))
        return NOBODY
