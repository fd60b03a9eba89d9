"""Relations: the steps of a SELECT, from views to rows."""

from dataclasses import dataclass

from penstock.plan.arrow.values import Value

Field = tuple[str, str]  # name and type


@dataclass(frozen=True, slots=True)
class View:
    """The rows of a leaf or a table."""

    name: str
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Pick:
    """The rows for which a condition holds, in their order."""

    input: "Relation"
    condition: Value
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Shape:
    """Other columns of the same rows."""

    input: "Relation"
    values: tuple[Value, ...]
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Spread:
    """Each row once for every number from `first` to `last`, which is its last column."""

    input: "Relation"
    first: Value
    last: Value
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Total:
    """A count, sum, min or max of a value; without one, of rows."""

    function: str
    value: Value | None
    type: str


@dataclass(frozen=True, slots=True)
class Group:
    """A row for each combination of keys: the keys, then the totals."""

    input: "Relation"
    keys: tuple[Value, ...]
    totals: tuple[Total, ...]
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Match:
    """Rows of the left side with those of the right whose keys, by place, are equal.

    `kind` is INNER, LEFT, LEFT SEMI or LEFT ANTI.
    """

    left: "Relation"
    right: "Relation"
    keys: tuple[tuple[int, int], ...]
    kind: str
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Append:
    """The rows of several relations, one after the other, under the names of the first."""

    inputs: "tuple[Relation, ...]"
    fields: tuple[Field, ...]


Relation = View | Pick | Shape | Spread | Group | Match | Append
