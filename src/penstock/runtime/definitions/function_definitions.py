"""CREATE FUNCTION, DROP FUNCTION, and registering functions of Python's."""

from dataclasses import dataclass, replace
from typing import Literal

from penstock.catalog import Catalog
from penstock.errors import (
    BadQueryError,
    NameTakenError,
    TypeMismatchError,
    UnknownFunctionError,
)
from penstock.functions.operators.function import Function
from penstock.model.definitions import FunctionDefinition, PythonFunction
from penstock.model.schema import Schema
from penstock.plan.operators import EventTime, Scan
from penstock.plan.relations.bind_function import typical
from penstock.plan.relations.sources import StreamSource, with_name
from penstock.runtime.definitions.definition_binder import DefinitionBinder
from penstock.runtime.names.stream_types import catalog_name
from penstock.sql import CreateFunction

FUNCTION: Literal["FUNCTION"] = "FUNCTION"


@dataclass(frozen=True, slots=True)
class FunctionDefinitions:
    """Makes functions known, and forgets them; while quiesced."""

    catalog: Catalog
    binder: DefinitionBinder

    def create(self, statement: CreateFunction) -> str:
        """Make a function in SQL known, and return what was done."""
        definition, functions = statement.definition, self.binder.functions
        if isinstance(definition, PythonFunction):
            raise BadQueryError(
                "functions of Python's are registered from Python", hint="ps.register(function)"
            )
        functions.refuse_taken(definition.name)
        if told := self._stands(statement, definition):
            return told
        self._check(definition)
        self._put(definition)
        functions.write(definition)
        return f"function {definition.name} created"

    def drop(self, name: str, *, if_exists: bool) -> str:
        """Forget a function that nobody uses."""
        functions, kept_as = self.binder.functions, catalog_name(FUNCTION, name)
        if name.lower() not in functions.written and name.lower() not in functions.references:
            if if_exists:
                return f"there is no function {name}"
            hint = "it is built in" if functions.registry.find(name) is not None else ""
            raise UnknownFunctionError(f"no function {name} of yours", hint=hint)
        self.binder.directory.refuse_in_use(kept_as)
        functions.forget(name)
        if self.catalog.get(kept_as) is not None:
            self.catalog.remove(kept_as)
        return f"function {name} dropped"

    def register(self, function: Function) -> None:
        """Make a function of Python's known; the catalog keeps where it is found."""
        self._put(self.binder.functions.register(function))

    def _put(self, definition: FunctionDefinition | PythonFunction) -> None:
        name = catalog_name(FUNCTION, definition.name)
        self.catalog.put(FUNCTION, name, definition.text, replace=True)

    def _stands(self, statement: CreateFunction, definition: FunctionDefinition) -> str:
        """Return a sentence where nothing is to be done; raise where the name is taken."""
        name = definition.name
        there = self.binder.functions.written.get(name.lower())
        if there is None:
            return ""
        if statement.if_not_exists:
            return f"function {name} exists and is left as it is"
        if statement.or_replace and replace(there, text="") == replace(definition, text=""):
            return f"function {name} stands like this already"
        if not statement.or_replace:
            raise NameTakenError(
                f"there is a function {name} already",
                hint="CREATE OR REPLACE replaces it, IF NOT EXISTS leaves it",
            )
        self.binder.directory.refuse_in_use(catalog_name(FUNCTION, name))
        return ""

    def _check(self, definition: FunctionDefinition) -> None:
        """Raise what is wrong with a function in SQL: what it takes, what it gives."""
        types = self.binder.types
        takes, returns = (types.get(name) for name in (definition.takes, definition.returns))
        times = (EventTime(takes.kind.ordering),) if takes.kind.ordering else ()
        stream = Scan(definition.stream, 0, takes.schema, times)
        lookup = with_name(self.binder.source, definition.stream, StreamSource(stream))
        found = self.binder.over(lookup).bind(typical(definition)).schema
        if _plain(found) != _plain(returns.schema):
            raise TypeMismatchError(
                f"{definition.name} gives ({found.ddl()}), not ({returns.schema.ddl()})",
                hint=f"give the columns of {definition.returns}, by their names, in their order",
            )


def _plain(schema: Schema) -> list[tuple[str, str]]:
    return [(column.name.lower(), column.type) for column in schema]
