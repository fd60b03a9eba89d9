"""CREATE, DROP and what comes back, over a kind that only remembers what it was asked to do."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from penstock.catalog import CatalogEntry, MemoryCatalog
from penstock.errors import BadQueryError, NameTakenError, PenstockError
from penstock.runtime.definitions.definitions import Definitions
from penstock.runtime.definitions.kind import NOBODY, Enter, Newcomers
from penstock.runtime.definitions.streams import scan_of
from penstock.runtime.durable.manifest import Manifest
from penstock.runtime.names.directory import Directory, KnownStream
from penstock.runtime.names.known_functions import KnownFunctions
from penstock.runtime.names.stream_types import StreamTypes
from penstock.sql import parse

STREAM = "CREATE STREAM s (n INT) FROM push()"
OTHER = "CREATE OR REPLACE STREAM s (n BIGINT) FROM push()"


@dataclass
class Remembering:
    """Streams without feeds; raises where it is told to."""

    directory: Directory
    fails_at: str = ""
    done: list[str] = field(default_factory=list)

    def prepared(self, statement: Any) -> Enter:
        self._do("prepare")

        def enter(entry: CatalogEntry) -> str:
            definition = statement.definition
            self.directory.add(KnownStream(definition, scan_of(definition, entry.incarnation)))
            self._do(f"enter {entry.incarnation}")
            return "made"

        return enter

    def forget(self, known: KnownStream) -> None:
        self._do(f"forget {known.scan.incarnation}")

    def bring_back(self, statement: Any, entry: CatalogEntry, _: Manifest) -> Newcomers:
        definition = statement.definition
        self.directory.add(KnownStream(definition, scan_of(definition, entry.incarnation)))
        return NOBODY

    def _do(self, what: str) -> None:
        self.done.append(what)
        if self.fails_at and what.startswith(self.fails_at):
            raise BadQueryError(what)


class World:
    def __init__(self) -> None:
        self.catalog, self.directory = MemoryCatalog(), Directory()
        self.kind = Remembering(self.directory)
        kinds: Any = {"STREAM": self.kind, "EVENT": self.kind}
        self.definitions = Definitions(
            self.catalog, self.directory, StreamTypes(), KnownFunctions(), kinds
        )

    def create(self, text: str) -> str:
        statement: Any = parse(text)[0]
        return self.definitions.create(statement)

    def drop(self, text: str) -> str:
        statement: Any = parse(text)[0]
        return self.definitions.drop(statement)

    def names(self) -> tuple[list[str], list[str]]:
        return [entry.name for entry in self.catalog.all()], list(self.directory.known)


def test_what_is_made_is_in_the_catalog_and_in_the_directory_until_it_is_dropped() -> None:
    world = World()
    assert world.create(STREAM) == "made"
    assert world.names() == (["s"], ["s"])
    assert world.drop("DROP STREAM s") == "stream s dropped"
    assert world.names() == ([], [])
    assert world.kind.done == ["prepare", "enter 1", "forget 1"]


def test_what_is_wrong_is_found_before_the_old_one_goes() -> None:
    world = World()
    world.create(STREAM)
    world.kind.fails_at = "prepare"
    with pytest.raises(BadQueryError):
        world.create(OTHER)
    assert world.names() == (["s"], ["s"])
    assert "forget 1" not in world.kind.done


def test_nothing_stays_of_what_cannot_be_put_into_its_place() -> None:
    world = World()
    world.kind.fails_at = "enter"
    with pytest.raises(BadQueryError):
        world.create(STREAM)
    assert world.names() == ([], [])
    assert world.kind.done == ["prepare", "enter 1", "forget 1"]


def test_the_old_one_is_gone_when_the_new_one_comes() -> None:
    world = World()
    world.create(STREAM)
    world.create(OTHER)
    assert world.kind.done == ["prepare", "enter 1", "prepare", "forget 1", "enter 2"]
    assert world.create(OTHER) == "stream s stands like this already"
    assert world.create(STREAM.replace("STREAM", "STREAM IF NOT EXISTS")).endswith("as it is")


@pytest.mark.parametrize("text", [STREAM, "CREATE EVENT s AS SELECT n MASK n > 1 FROM t"])
def test_a_name_is_taken_once(text: str) -> None:
    world = World()
    world.create(STREAM)
    with pytest.raises(NameTakenError):
        world.create(text)
    assert world.kind.done == ["prepare", "enter 1"]


def test_everything_comes_back_under_the_number_that_it_had() -> None:
    world = World()
    for text in (STREAM, OTHER):
        world.create(text)
    world.directory.known.clear()
    for entry in world.catalog.all():
        assert world.definitions.bring_back(entry, Manifest()) == NOBODY
    assert world.directory.stream("s").scan.incarnation == 2


def test_what_is_no_definition_does_not_come_back() -> None:
    with pytest.raises(PenstockError):
        World().definitions.bring_back(CatalogEntry("STREAM", "s", "SHOW STREAMS", 1), Manifest())
