"""What a convert or a merge computes, cell by cell: a tree over numbers."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Constant:
    """A number, or NULL."""

    value: float | None


@dataclass(frozen=True, slots=True)
class Variable:
    """The value of the cell in a source; `value` where there is one source."""

    name: str


@dataclass(frozen=True, slots=True)
class Operation:
    """One of the operations that `penstock.grid.formulas` knows, over formulas."""

    name: str
    arguments: tuple["Formula", ...]


Formula = Constant | Variable | Operation
VALUE = Variable("value")


def substituted(formula: Formula, meant: Mapping[str, Formula]) -> Formula:
    """Return a formula with formulas for its variables."""
    match formula:
        case Variable(name=name):
            return meant.get(name, formula)
        case Operation(name=name, arguments=arguments):
            return Operation(name, tuple(substituted(each, meant) for each in arguments))
        case Constant():
            return formula
