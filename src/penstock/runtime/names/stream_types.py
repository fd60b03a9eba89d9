"""Stream types: made, shown, dropped, and put in the place of a stream's columns."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from penstock.catalog import Catalog
from penstock.engine.options import near_miss
from penstock.errors import CycleError, InUseError, NameTakenError, UnknownNameError
from penstock.functions.data.items import StreamType
from penstock.model.definitions import StreamDefinition, TypeDefinition
from penstock.model.schema import Schema
from penstock.sql import is_arrival, ordering_column, time_column


@dataclass(frozen=True, slots=True)
class KnownType:
    """A stream type, with those above it."""

    definition: TypeDefinition
    kind: StreamType

    @property
    def schema(self) -> Schema:
        """Return all of its columns."""
        return self.kind.schema


class StreamTypes:
    """The types there are; their names are apart from those of streams and queries."""

    def __init__(self) -> None:
        self._known: dict[str, KnownType] = {}

    def __iter__(self) -> Iterator[KnownType]:
        return iter(self._known.values())

    def find(self, name: str) -> KnownType | None:
        """Return the type of that name, or None."""
        return self._known.get(name.lower())

    def get(self, name: str) -> KnownType:
        """Return the type of that name, or raise."""
        if (found := self.find(name)) is None:
            names = [each.definition.name for each in self._known.values()]
            hint = near_miss(name, names) if names else "CREATE STREAM TYPE makes one"
            raise UnknownNameError(f"no stream type {name}", hint=hint)
        return found

    def made(self, definition: TypeDefinition) -> KnownType:
        """Return the type that a definition makes, or raise what is wrong with it."""
        if definition.under.lower() == definition.name.lower():
            raise CycleError(f"type {definition.name} would be under itself")
        above = self.get(definition.under).kind if definition.under else None
        times = [column.name for column in definition.schema if column.type == "timestamp"]
        ordering = times[0] if times and (above is None or above.ordering is None) else None
        own = definition.schema.columns
        return KnownType(definition, StreamType(definition.name, own, ordering, above))

    def add(self, known: KnownType) -> None:
        """Remember a type."""
        self._known[known.definition.name.lower()] = known

    def remove(self, name: str) -> None:
        """Forget a type that none is under."""
        self._known.pop(name.lower())

    def below(self, name: str) -> list[str]:
        """Return the types that are under one."""
        under = name.lower()
        return [
            k.definition.name for k in self._known.values() if k.definition.under.lower() == under
        ]

    def resolved(self, definition: StreamDefinition) -> StreamDefinition:
        """Return a stream's definition with the columns of its type."""
        if not definition.of:
            return definition
        schema = self.get(definition.of).schema
        time = definition.time_column
        order = tuple(
            replace(each, column=ordering_column(each.column, schema))
            for each in definition.ordered_by
        )
        if time and is_arrival(time, schema):
            return replace(definition, schema=schema, ordered_by=order).stamped()
        time = time and time_column(time, schema)
        return replace(definition, schema=schema, time_column=time, ordered_by=order)


def catalog_name(kind: str, name: str) -> str:
    """Return the name under which the catalog keeps what has a name apart from streams."""
    return f"{kind} {name}"


def create_type(
    types: StreamTypes, catalog: Catalog, definition: TypeDefinition, *, leave: bool, replaces: bool
) -> str:
    """Make a type, and return what was done."""
    name = definition.name
    if (there := types.find(name)) is not None:
        if leave:
            return f"type {name} exists and is left as it is"
        if replaces and replace(there.definition, text="") == replace(definition, text=""):
            return f"type {name} stands like this already"
        raise NameTakenError(
            f"there is a type {name} already",
            hint="DROP TYPE it first, or take another name",
        )
    known = types.made(definition)
    catalog.put("TYPE", catalog_name("TYPE", name), definition.text)
    types.add(known)
    return f"type {name} created"


def drop_type(types: StreamTypes, catalog: Catalog, name: str, users: list[str]) -> str:
    """Forget a type that nobody uses."""
    known = types.get(name)
    if used := [*types.below(name), *users]:
        raise InUseError(f"type {name} is used by {', '.join(used)}", hint="DROP those first")
    types.remove(name)
    catalog.remove(catalog_name("TYPE", known.definition.name))
    return f"type {name} dropped"
