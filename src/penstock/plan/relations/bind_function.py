"""Functions and flows in FROM: `FROM fft3(radio)`, and what FLOW … OVER stands for."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp

from penstock.errors import BadOptionError, BadQueryError, Place
from penstock.model.definitions import FunctionDefinition
from penstock.model.functions.flows import Term, Value
from penstock.plan.algebra.scope import place_of
from penstock.plan.algebra.window_calls import arguments, by_window, constant, windowed
from penstock.plan.operators import Operator
from penstock.plan.relations.sources import (
    Flows,
    Lookup,
    StreamSource,
    TableSource,
    with_name,
)
from penstock.sql import WrittenFlow, flow_of, parse_select, spark_sql

Read = Callable[[exp.Expr], StreamSource | TableSource]
PIPE, CENTRAL = "pipe", "central"
TIMES = ("date", "time", "interval")  # types that no number is cast to


@dataclass(frozen=True, slots=True)
class FunctionBinder:
    """Binds functions that `flows` knows; `bind` binds a SELECT with a lookup of its own."""

    lookup: Lookup
    flows: Flows
    bind: Callable[[exp.Expr, Lookup], Operator]

    def of(self, node: exp.Table, read: Read) -> Operator | None:
        """Return what a table of FROM gives that is read through functions, else None."""
        if (written := flow_of(node)) is not None:
            return self._flow(written, self._stream(node.this, read))
        if not isinstance(node.this, exp.Anonymous):
            return None
        return self._called(node.this, read)

    def _flow(self, flow: WrittenFlow, operator: Operator) -> Operator:
        """Return a flow over a stream; between its parts, functions in SQL are SELECTs."""
        parts = self._parts(flow.term)
        if len(parts) == 1 and self.flows.called(parts[0].name) is None:
            return self.flows.over(flow, operator, self._branch)
        for place, part in enumerate(parts):
            if (definition := self.flows.called(part.name)) is not None:
                operator = self._inlined(definition, _literals(part), operator, part.place)
                continue
            output = flow.output if place == len(parts) - 1 else None
            operator = self.flows.over(
                replace(flow, term=part, output=output), operator, self._branch
            )
        return operator

    def _parts(self, term: Term) -> list[Term]:
        """Return the runs of a pipe's parts between those that are in SQL, or the term itself."""
        if term.name.lower() == CENTRAL and len(term.arguments) == 1:
            (only,) = term.arguments
            inner = only if isinstance(only, Term) else term
            return [inner] if self.flows.called(inner.name) is not None else [term]
        if term.name.lower() != PIPE:
            return [term]
        found: list[Term] = []
        run: list[Value] = []
        for each in term.arguments:
            alone = self._parts(each) if isinstance(each, Term) else []
            if len(alone) == 1 and self.flows.called(alone[0].name) is not None:
                found += [*_piped(term, run), alone[0]]
                run = []
            else:
                run.append(each)
        return [*found, *_piped(term, run)]

    def _branch(
        self, definition: FunctionDefinition, values: Sequence[Any], operator: Operator
    ) -> Operator:
        """Return a function in SQL over the items that come to a place inside a flow."""
        return self._inlined(definition, [exp.convert(each) for each in values], operator, None)

    def _called(self, call: exp.Anonymous, read: Read) -> Operator:
        first, *others = arguments(call)
        operator = self._stream(first, read)
        if (definition := self.flows.called(call.name)) is not None:
            return self._inlined(definition, others, operator, place_of(call))
        values = tuple(constant(each) for each in others)
        term = Term(call.name, values, place=place_of(call))
        return self.flows.over(WrittenFlow(term, place=term.place), operator, self._branch)

    def _stream(self, node: exp.Expr, read: Read) -> Operator:
        """Return the stream that functions read: by its name, or what another function gives."""
        if isinstance(node, exp.Anonymous):
            return self._called(node, read)
        if not isinstance(node, exp.Identifier | exp.Column):
            raise BadQueryError(
                f"{spark_sql(node)} is no stream", hint="a function reads a stream first"
            )
        source = read(exp.Table(this=exp.to_identifier(node.name, quoted=True)))
        if isinstance(source, StreamSource):
            return source.operator
        raise BadQueryError(
            f"{node.name} is a table, and functions run over streams", place=place_of(node)
        )

    def _inlined(
        self,
        definition: FunctionDefinition,
        given: Sequence[exp.Expr],
        operator: Operator,
        place: Place | None,
    ) -> Operator:
        """Return the SELECT of a function in SQL over a stream, its parameters filled in."""
        body = filled_body(definition, given, place)
        known = with_name(self.lookup, definition.stream, StreamSource(operator))
        return self.bind(body, known)


def filled_body(
    definition: FunctionDefinition, given: Sequence[exp.Expr], place: Place | None
) -> exp.Expr:
    """Return the SELECT of a function in SQL, its parameters and windows filled in."""
    wanted = definition.parameters
    if len(given) != len(wanted):
        names = ", ".join([definition.stream, *(each.name for each in wanted)])
        raise BadOptionError(
            f"{definition.name} takes {len(wanted)} parameters, and {len(given)} came",
            hint=f"{definition.name}({names})",
            place=place,
        )
    values = {each.name.lower(): value for each, value in zip(wanted, given, strict=True)}
    types = {each.name.lower(): each.type for each in wanted}

    def filled(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Table) and isinstance(node.this, exp.Anonymous):
            return windowed(node, node.this, values)
        if isinstance(node, exp.Column) and len(node.parts) == 1:
            name = node.name.lower()
            return exp.cast(values[name].copy(), types[name]) if name in values else node
        return node

    return by_window(parse_select(definition.body).transform(filled))


def typical(definition: FunctionDefinition) -> exp.Expr:
    """Return a function's SELECT with some value for each parameter, to see what it gives."""
    given = [
        exp.Null() if each.type.lower().startswith(TIMES) else exp.Literal.number(1)
        for each in definition.parameters
    ]
    return filled_body(definition, given, None)


def _piped(term: Term, run: Sequence[Value]) -> list[Term]:
    if not run:
        return []
    only = run[0]
    if len(run) == 1 and isinstance(only, Term):
        return [only]
    return [replace(term, arguments=tuple(run))]


def _literals(part: Term) -> list[exp.Expr]:
    return [exp.convert(each) for each in part.arguments]
