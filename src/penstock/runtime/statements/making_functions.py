"""CREATE FUNCTION, DROP FUNCTION, and registering functions of Python's."""

from dataclasses import replace
from typing import Literal

from penstock.errors import (
    BadQueryError,
    NameTakenError,
    TypeMismatchError,
    UnknownFunctionError,
)
from penstock.functions.operators.function import Function
from penstock.model.definitions import FunctionDefinition, Parameter, PythonFunction
from penstock.model.schema import Schema
from penstock.plan.operators import EventTime, Scan
from penstock.plan.relations.bind_function import typical
from penstock.plan.relations.sources import StreamSource, with_name
from penstock.plan.select.bind import Binder
from penstock.runtime.names.stream_types import catalog_name
from penstock.runtime.system.binding import flow_binder
from penstock.runtime.system.system import System
from penstock.sql import CreateFunction

FUNCTION: Literal["FUNCTION"] = "FUNCTION"


def create_function(system: System, statement: CreateFunction) -> str:
    """Make a function in SQL known, and return what was done."""
    definition, functions = statement.definition, system.functions
    if isinstance(definition, PythonFunction):
        raise BadQueryError(
            "functions of Python's are registered from Python", hint="ps.register(function)"
        )
    name = definition.name
    functions.refuse_taken(name)
    if (there := functions.written.get(name.lower())) is not None:
        if statement.if_not_exists:
            return f"function {name} exists and is left as it is"
        if statement.or_replace and replace(there, text="") == replace(definition, text=""):
            return f"function {name} stands like this already"
        if not statement.or_replace:
            raise NameTakenError(
                f"there is a function {name} already",
                hint="CREATE OR REPLACE replaces it, IF NOT EXISTS leaves it",
            )
        system.directory.refuse_in_use(catalog_name(FUNCTION, name))
    check_function(system, definition)
    system.catalog.put(FUNCTION, catalog_name(FUNCTION, name), definition.text, replace=True)
    functions.write(definition)
    return f"function {name} created"


def check_function(system: System, definition: FunctionDefinition) -> None:
    """Raise what is wrong with a function in SQL: what it takes, what it gives."""
    takes, returns = (system.types.get(name) for name in (definition.takes, definition.returns))
    times = (EventTime(takes.kind.ordering),) if takes.kind.ordering else ()
    stream = Scan(definition.stream, 0, takes.schema, times)
    known = with_name(
        lambda name: system.directory.source(name, "", None),
        definition.stream,
        StreamSource(stream),
    )
    binder = Binder(known, system.analyst, flows=flow_binder(system))
    found = binder.bind(typical(definition)).schema
    if _plain(found) != _plain(returns.schema):
        raise TypeMismatchError(
            f"{definition.name} gives ({found.ddl()}), not ({returns.schema.ddl()})",
            hint=f"give the columns of {definition.returns}, by their names, in their order",
        )


def drop_function(system: System, name: str, *, if_exists: bool) -> str:
    """Forget a function that nobody uses."""
    functions = system.functions
    if name.lower() not in functions.written and name.lower() not in functions.references:
        if if_exists:
            return f"there is no function {name}"
        hint = "it is built in" if functions.registry.find(name) is not None else ""
        raise UnknownFunctionError(f"no function {name} of yours", hint=hint)
    system.directory.refuse_in_use(catalog_name(FUNCTION, name))
    functions.forget(name)
    if system.catalog.get(catalog_name(FUNCTION, name)) is not None:
        system.catalog.remove(catalog_name(FUNCTION, name))
    return f"function {name} dropped"


def register(system: System, function: Function) -> None:
    """Make a function of Python's known; the catalog keeps where it is found."""
    with system.quiescence.quiesced():
        kept = system.functions.register(function)
        system.catalog.put(FUNCTION, catalog_name(FUNCTION, kept.name), kept.text, replace=True)


def described(definition: FunctionDefinition) -> list[Parameter]:
    """Return the parameters of a function in SQL, its stream first."""
    return [Parameter(definition.stream, definition.takes), *definition.parameters]


def _plain(schema: Schema) -> list[tuple[str, str]]:
    return [(column.name.lower(), column.type) for column in schema]
