"""Flows as they are written: a term of templates and functions, over a stream."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from sqlglot import exp

from penstock.errors import Place
from penstock.model.functions.flows import Term, Value

FLOW = "flow"  # the argument of an `exp.Table` that is read through a flow


@dataclass(frozen=True, slots=True)
class WrittenFlow:
    """`FLOW … OVER stream [OUTPUT n]`, or a function that stands in FROM."""

    term: Term
    output: int | None = None
    place: Place | None = None


def flow_of(node: exp.Expr) -> WrittenFlow | None:
    """Return the flow through which a table of FROM is read, or None."""
    return cast("WrittenFlow | None", node.args.get(FLOW)) if isinstance(node, exp.Table) else None


def with_flow(table: exp.Table, flow: WrittenFlow) -> exp.Table:
    """Return the table, to be read through a flow."""
    table.set(FLOW, flow)
    return table


def names_in_term(term: Value) -> Iterator[str]:
    """Yield the names of the functions and templates that a flow speaks of, in lower case."""
    if isinstance(term, Term):
        yield term.name.lower()
        for each in (*term.arguments, *(value for _, value in term.named)):
            yield from names_in_term(each)
