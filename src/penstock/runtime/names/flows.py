"""Functions and flows as the system knows them: registered, looked up, put over streams."""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from penstock.errors import BadFlowError, NotRepeatableError, PenstockError
from penstock.functions.data.items import StreamType
from penstock.functions.flows.flow import Dataflow
from penstock.functions.flows.flow_text import from_text, to_text
from penstock.functions.flows.resolution import flow_of
from penstock.functions.flows.stages import Stages, stages_of
from penstock.functions.flows.templates import Auto, auto
from penstock.functions.library.registry import Registry
from penstock.functions.operators.function import Call, Role
from penstock.functions.tuning.spread import function_in
from penstock.model.definitions import FunctionDefinition, Sites
from penstock.model.functions.flows import Term
from penstock.model.schema import literal
from penstock.plan.operators import EventTime, Flow, Operator, Ordered
from penstock.plan.relations.sources import Inline
from penstock.plan.select.once import flows_in, functions_in, names_in
from penstock.runtime.names.known_functions import KnownFunctions
from penstock.runtime.names.selects import select_function
from penstock.runtime.names.stream_types import catalog_name
from penstock.sql import WrittenFlow, names_in_term, parse_select

GRAPH, AUTO = "graph", auto.__name__
DIGITS = 16  # of the hash that tells a graph from others


@dataclass(frozen=True, slots=True)
class FlowBinder:
    """Puts flows over streams; `types` are those that the items of a stream may be of."""

    functions: KnownFunctions
    sites: Sites = "auto"
    types: tuple[StreamType, ...] = ()

    def over(self, flow: WrittenFlow, operator: Operator, inline: Inline) -> Operator:
        """Return the operator that gives what a flow makes of a stream, or raise what is wrong."""
        try:
            return self._over(flow, operator, inline)
        except PenstockError as error:
            error.place = error.place or flow.place
            raise

    def called(self, name: str) -> FunctionDefinition | None:
        """Return the function of that name that is written in SQL, or None."""
        return self.functions.written.get(name.lower())

    def _over(self, flow: WrittenFlow, operator: Operator, inline: Inline) -> Operator:
        graph = graph_of(flow.term, self._registry(flow.term, inline))
        output = _output_of(graph, flow.output)
        _refuse_changing(graph)
        if graph.arity != 1:
            raise BadFlowError(
                f"the flow has {graph.arity} inputs, and runs over one stream",
                hint="begin with partition(n, …) or pcc(n, …), which split it",
            )
        stages = stages_of(graph, type_of(operator, self.types), output)
        return flow_operator(operator, stages, written_as(flow.term, graph), self._sites(graph))

    def _registry(self, term: Term, inline: Inline) -> Registry:
        """Return all functions that a flow may name, those in SQL that it does among them."""
        registry = self.functions.registry
        for name in set(names_in_term(term)) & self.functions.written.keys():
            made = select_function(self.functions.written[name], inline, self._type_of)
            registry = registry.with_function(made)
        return registry

    def _type_of(self, operator: Operator) -> StreamType:
        return type_of(operator, self.types)

    def _sites(self, graph: Dataflow) -> Sites:
        """Return where a flow runs: in the driver, where it asks Spark for SELECTs."""
        written = next((node.call for node in graph.nodes if node.call.role is Role.SELECT), None)
        if written is None:
            return self.sites
        if self.sites == "workers":
            raise BadFlowError(
                f"{written} is in SQL, and workers cannot ask Spark for a SELECT",
                hint="leave sites => 'workers' out, or put it before or behind the branches",
            )
        return "driver"


def type_of(operator: Operator, types: Iterable[StreamType] = ()) -> StreamType:
    """Return what the items of a stream are: of the first type that has its columns and its order.

    A query that passes on all columns of a stream gives items of the same type.
    """
    columns = operator.schema.columns
    time = operator.times[0].column if operator.times else None
    alike = (each for each in types if (each.columns, each.ordering) == (columns, time))
    return next(alike, StreamType("items", columns, time))


def flow_operator(operator: Operator, stages: Stages, written: str, sites: Sites) -> Flow:
    """Return the operator of a flow over a stream, whose items it takes in order."""
    result = stages.result
    schema = result.schema
    time = operator.times[0] if operator.times else None
    kept = time is not None and result.ordering is not None and schema.find(result.ordering)
    times = (EventTime(kept.name),) if kept else ()
    return Flow(
        Ordered(operator, "time"),
        written,
        graph_name(stages),
        schema,
        times,
        stages,
        sites,
        patience_of(stages.flow),
    )


def graph_of(term: Term, registry: Registry) -> Dataflow:
    """Return the flow that a term describes; `graph(…)` holds one that was made in Python."""
    if (kept := _kept(term)) is None:
        return flow_of(term, registry)
    if term.name.lower() == GRAPH:
        return from_text(kept, registry)
    function = function_in(from_text(kept, registry))
    if function is None:
        raise BadFlowError("auto spreads one function", hint="such as auto(fft3)")
    return auto(function)


def _kept(term: Term) -> str | None:
    """Return the graph from Python that a term holds, by itself or to be spread, or None."""
    match term:
        case Term(name=name, arguments=(str() as text,), named=()) if name.lower() == GRAPH:
            return text
        case Term(name=name, arguments=(Term() as inner,), named=()) if name.lower() == AUTO:
            return _kept(inner)
        case _:
            return None


def written_as(term: Term, graph: Dataflow) -> str:
    """Return a flow as people read it; a function of Python's that is spread as SQL has it."""
    spread = isinstance(graph, Auto) and _kept(term) is not None
    return f"{AUTO}({graph.nodes[0].call})" if spread else str(term)


def graph_name(stages: Stages) -> str:
    """Return a name that equal graphs of the same versions of functions have, and no others."""
    text = f"{stages.output} of {to_text(stages.flow)}"
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]


def graph_term(flow: Dataflow) -> str:
    """Return a flow that was made in Python as SQL has it."""
    kept = f"{GRAPH}({literal(to_text(flow))})"
    return f"{AUTO}({kept})" if isinstance(flow, Auto) else kept


def reads_of(tree: Any, functions: KnownFunctions) -> frozenset[str]:
    """Return the functions that a SELECT needs, as the catalog names them, and what these read."""
    called = {call.name.lower() for call in functions_in(tree)}
    for flow in flows_in(tree):
        called |= set(_functions_of(flow.term, functions.registry))
    mine = {name for name in called if name in functions.written or name in functions.references}
    needed = {catalog_name("FUNCTION", name).lower() for name in mine}
    for name in mine & functions.written.keys():
        definition = functions.written[name]
        body = parse_select(definition.body)
        needed |= names_in(body) - {definition.stream.lower()}
        needed |= reads_of(body, functions)
    return frozenset(needed)


def _refuse_changing(graph: Dataflow) -> None:
    """Raise where a standing flow calls what may give something else when it is called again."""
    for call in (each for node in graph.nodes for each in _calls(node.call)):
        if not call.function.deterministic:
            error = NotRepeatableError(
                f"function {call.function.name} is declared as not deterministic",
                hint="only a one-time SELECT can call it: a standing query may run again",
            )
            error.call = call.function.name
            raise error


def _functions_of(term: Term, registry: Registry) -> Iterator[str]:
    if _kept(term) is None:
        yield from names_in_term(term)
        return
    for node in graph_of(term, registry).nodes:
        yield from (call.function.name.lower() for call in _calls(node.call))


def _calls(call: Call) -> Iterator[Call]:
    """Yield a call, and those that are among its arguments."""
    yield call
    for _, value in call.arguments:
        if isinstance(value, Call):
            yield from _calls(value)


def patience_of(flow: Dataflow) -> float | None:
    """Return how long the branches of a flow are waited for: the longest time-out of its merges."""
    merges = [node.call.parameters for node in flow.nodes if len(node.inputs) > 1]
    times = [each["timeout"] for each in merges if each.get("timeout") is not None]
    return max(times) if times and len(times) == len(merges) else None


def _output_of(graph: Dataflow, wanted: int | None) -> int:
    if wanted is None and graph.width > 1:
        raise BadFlowError(
            f"the flow has {graph.width} outputs",
            hint="a query gives one of them: … OVER stream OUTPUT 0",
        )
    output = wanted or 0
    if output >= graph.width:
        raise BadFlowError(
            f"the flow has no output {output}", hint=f"there is 0 to {graph.width - 1}"
        )
    return output
