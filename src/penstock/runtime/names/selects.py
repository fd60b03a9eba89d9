"""Functions in SQL as flows have them: bound to the items that come where they stand."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.errors import BadFlowError
from penstock.functions.data.items import StreamType
from penstock.functions.operators.function import Function, Parameter, Role
from penstock.functions.operators.select_call import Selecting
from penstock.model.definitions import FunctionDefinition
from penstock.plan.operators import EventTime, Operator, Scan
from penstock.plan.relations.sources import Inline
from penstock.plan.sharing.branch_select import branch_select

TypeOf = Callable[[Operator], StreamType]
WHOLE = ("tinyint", "smallint", "int", "integer", "bigint")
REAL = ("float", "real", "double", "decimal", "numeric")
VERSION_DIGITS = 12  # of the hash that tells one text of a function from another


@dataclass(frozen=True)
class SelectMaker:
    """Makes the operator of a function in SQL, once for each type and set of parameters."""

    definition: FunctionDefinition
    inline: Inline = field(compare=False, repr=False)
    type_of: TypeOf = field(compare=False, repr=False)
    made: dict[Any, Selecting] = field(default_factory=dict, compare=False, repr=False)

    def __call__(self, given: StreamType, **parameters: Any) -> Selecting:
        """Return the operator over items of a type."""
        asked = (given, tuple(parameters.items()))
        if asked not in self.made:
            self.made[asked] = self._made(given, tuple(parameters.values()))
        return self.made[asked]

    def _made(self, given: StreamType, values: Sequence[Any]) -> Selecting:
        name = self.definition.name
        times = (EventTime(given.ordering),) if given.ordering is not None else ()
        root = self.inline(self.definition, values, Scan(name, 0, given.schema, times))
        statement, kind = branch_select(root, name), self.type_of(root)
        if given.ordering is not None and kind.ordering is None:
            raise BadFlowError(
                f"{name} gives items without the time that orders them",
                hint=f"let its SELECT pass {given.ordering} on as it is",
            )
        return Selecting(name, given, kind, statement)


def select_function(definition: FunctionDefinition, inline: Inline, type_of: TypeOf) -> Function:
    """Return a function in SQL as one that a flow can name; its version is that of its text."""
    text = "\n".join(map(str, (definition.stream, definition.parameters, definition.body)))
    digest = hashlib.sha256(text.encode()).hexdigest()
    maker = SelectMaker(definition, inline, type_of)
    return Function(
        definition.name,
        Role.SELECT,
        maker,
        lambda given, parameters: maker(given, **parameters).type,
        parameters=tuple(Parameter(each.name, _kind(each.type)) for each in definition.parameters),
        version=int(digest[:VERSION_DIGITS], 16),
        source=definition.body,
    )


def _kind(text: str) -> type:
    """Return what a parameter of a type of SQL is in Python; what has no literal is a text."""
    name = text.lower().partition("(")[0].strip()
    if name in WHOLE:
        return int
    if name in REAL:
        return float
    return bool if name == "boolean" else str
