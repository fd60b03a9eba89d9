"""Flows as they are written: calls of templates and functions inside each other."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from sqlglot import exp

from penstock.errors import Place

FLOW = "flow"  # the argument of an `exp.Table` that is read through a flow
BRANCH = "#"  # stands for the number of a branch


@dataclass(frozen=True, slots=True)
class FlowName:
    """The name of a function or template, or `#`."""

    name: str
    place: Place


@dataclass(frozen=True, slots=True)
class FlowCall:
    """A template or a function with its arguments, those with a name behind the others."""

    name: str
    arguments: "tuple[FlowPart, ...]"
    named: "tuple[tuple[str, FlowPart], ...]"
    place: Place


FlowPart = FlowName | FlowCall | int | float | str | bool | None


@dataclass(frozen=True, slots=True)
class WrittenFlow:
    """`FLOW … OVER stream [OUTPUT n]`, or a function that stands in FROM.

    `part` is a call, a name, or the text in which a flow from Python is kept.
    """

    part: FlowPart
    over: str
    output: int | None
    text: str
    place: Place


def flow_of(node: exp.Expr) -> WrittenFlow | None:
    """Return the flow through which a table of FROM is read, or None."""
    return cast("WrittenFlow | None", node.args.get(FLOW)) if isinstance(node, exp.Table) else None


def functions_in(part: FlowPart) -> Iterator[str]:
    """Yield the names of the functions and templates that a flow speaks of, in lower case."""
    match part:
        case FlowName(name):
            yield name.lower()
        case FlowCall(name, arguments, named):
            yield name.lower()
            for each in (*arguments, *(value for _, value in named)):
                yield from functions_in(each)
