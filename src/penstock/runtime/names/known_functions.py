"""The functions that flows and FROM may name: built in, in SQL, in Python."""

import importlib
from dataclasses import dataclass, field, replace
from typing import Any

from penstock.errors import BadOptionError, NameTakenError, UnknownFunctionError, quoted_value
from penstock.functions.flows.resolution import TEMPLATES
from penstock.functions.library.registry import Registry
from penstock.functions.operators.function import Function
from penstock.model.definitions import FunctionDefinition, PythonFunction

MAIN = "__main__"


@dataclass(slots=True)
class KnownFunctions:
    """`registry` has those that run over items, `written` those in SQL, by lower-case names."""

    registry: Registry = field(default_factory=Registry)
    written: dict[str, FunctionDefinition] = field(default_factory=dict)
    references: dict[str, PythonFunction] = field(default_factory=dict)

    def register(self, function: Function) -> PythonFunction:
        """Make a function of Python's known, or another version of it."""
        if not isinstance(function, Function):
            raise BadOptionError(
                f"{quoted_value(function)} is no stream function",
                hint="decorate it by @stream_function",
            )
        name = function.name.lower()
        if name in self.written or name in TEMPLATES:
            raise NameTakenError(
                f"there is a function or template {name}", hint="take another name"
            )
        self.registry = self.registry.with_function(function)
        reference = reference_of(function)
        text = f"CREATE FUNCTION {name} USING '{reference}' VERSION {function.version}"
        self.references[name] = PythonFunction(name, reference, function.version, text)
        return self.references[name]

    def bring_back(self, kept: PythonFunction) -> None:
        """Find a registered function again, unless it was given; raise where it is gone."""
        name = kept.name.lower()
        if self.registry.find(name) is not None:
            return
        module, _, attribute = kept.reference.partition(":")
        try:
            found: Any = None if module == MAIN else importlib.import_module(module)
            for part in attribute.split("."):
                found = getattr(found, part)
        except Exception:
            found = None
        if not isinstance(found, Function):
            raise UnknownFunctionError(
                f"function {name} cannot be found at {kept.reference}",
                hint="give it to connect(functions=[…])",
            )
        self.register(replace(found, name=name))

    def write(self, definition: FunctionDefinition) -> None:
        """Make a function in SQL known."""
        self.written[definition.name.lower()] = definition

    def find(self, name: str) -> Function | FunctionDefinition | None:
        """Return the function of that name."""
        return self.written.get(name.lower()) or self.registry.find(name)

    def refuse_taken(self, name: str) -> None:
        """Raise where a function that is not in SQL has the name."""
        if self.registry.find(name) is not None or name.lower() in TEMPLATES:
            raise NameTakenError(
                f"there is a function or template {name}", hint="take another name"
            )

    def forget(self, name: str) -> None:
        """Forget a function of the user's."""
        self.written.pop(name.lower(), None)
        self.references.pop(name.lower(), None)
        self.registry = self.registry.without(name)


def reference_of(function: Function) -> str:
    """Return where a function is found by importing: `module:name`."""
    inner = getattr(function.apply, "function", function.apply)
    module, name = getattr(inner, "__module__", MAIN), getattr(inner, "__qualname__", function.name)
    return f"{module}:{name}"
