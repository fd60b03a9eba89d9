"""Functions and flows in FROM: `FROM fft3(radio)`, and what FLOW … OVER stands for."""

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from penstock.errors import BadOptionError, BadQueryError, Place
from penstock.model.definitions import FunctionDefinition
from penstock.model.flows import Term, Value
from penstock.plan.operators import Operator
from penstock.plan.scope import place_of
from penstock.plan.sources import (
    Flows,
    Lookup,
    StreamSource,
    TableSource,
    with_name,
)
from penstock.sql import WrittenFlow, flow_of, parse_select, spark_sql

Read = Callable[[exp.Expr], StreamSource | TableSource]


@dataclass(frozen=True, slots=True)
class FunctionBinder:
    """Binds functions against what `flows` knows; `bind` binds a SELECT with a lookup of its own."""

    lookup: Lookup
    flows: Flows
    bind: Callable[[exp.Expr, Lookup], Operator]

    def of(self, node: exp.Table, read: Read) -> Operator | None:
        """Return what a table of FROM gives that is read through functions, else None."""
        if (written := flow_of(node)) is not None:
            return self.flows.over(written, self._stream(node.this, read))
        if not isinstance(node.this, exp.Anonymous):
            return None
        return self._called(node.this, read)

    def _called(self, call: exp.Anonymous, read: Read) -> Operator:
        first, *others = call.expressions or (None,)
        if first is None:
            raise BadQueryError(
                f"{call.name} needs the stream that it reads",
                hint=f"FROM {call.name}(radio)",
                place=place_of(call),
            )
        operator = self._stream(first, read)
        if (definition := self.flows.called(call.name)) is not None:
            return self._inlined(definition, others, operator, place_of(call))
        values = tuple(_constant(each) for each in others)
        term = Term(call.name, values, place=place_of(call))
        return self.flows.over(WrittenFlow(term, place=term.place), operator)

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
        given: list[exp.Expr],
        operator: Operator,
        place: Place | None,
    ) -> Operator:
        """Return the SELECT of a function in SQL over a stream, its parameters filled in."""
        wanted = definition.parameters
        if len(given) != len(wanted):
            names = ", ".join([definition.stream, *(each.name for each in wanted)])
            raise BadOptionError(
                f"{definition.name} takes {len(wanted)} parameters, and {len(given)} came",
                hint=f"{definition.name}({names})",
                place=place,
            )
        values = {
            each.name.lower(): exp.cast(value.copy(), each.type)
            for each, value in zip(wanted, given, strict=True)
        }

        def filled(node: exp.Expr) -> exp.Expr:
            alone = isinstance(node, exp.Column) and len(node.parts) == 1
            return values.get(node.name.lower(), node).copy() if alone else node

        body = parse_select(definition.body).transform(filled)
        known = with_name(self.lookup, definition.stream, StreamSource(operator))
        return self.bind(body, known)


def _constant(node: exp.Expr) -> Value:
    """Return a parameter that stands in FROM as Python's own value."""
    match node:
        case exp.Boolean():
            return bool(node.this)
        case exp.Null():
            return None
        case exp.Literal(is_string=True):
            return str(node.this)
        case exp.Literal() | exp.Neg(this=exp.Literal(is_string=False)):
            text = spark_sql(node).replace(" ", "")
            return int(text) if text.lstrip("-").isdecimal() else float(text)
    raise BadOptionError(
        f"{spark_sql(node)} is no constant", hint="parameters of a function are numbers and texts"
    )
