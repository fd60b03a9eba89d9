"""Functions and flows as the system knows them: registered, looked up, put over streams."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace

from penstock.errors import BadFlowError, NotYetError, PenstockError
from penstock.functions.flow import Dataflow, Input
from penstock.functions.function import Call
from penstock.functions.registry import Registry
from penstock.functions.stages import Stages, stages_of
from penstock.functions.types import StreamType
from penstock.functions.written import flow_of
from penstock.model.definitions import FunctionDefinition, Sites
from penstock.model.flows import Term
from penstock.plan.operators import EventTime, Flow, Operator, Ordered
from penstock.sql import WrittenFlow

DIGITS = 16  # of the hash that tells a graph from others


@dataclass(frozen=True, slots=True)
class FlowBinder:
    """Puts flows over streams; `written` finds functions in SQL by their names."""

    registry: Registry
    written: Callable[[str], FunctionDefinition | None]
    sites: Sites = "auto"

    def over(self, flow: WrittenFlow, operator: Operator) -> Operator:
        """Return the operator that gives what a flow makes of a stream, or raise what is wrong."""
        try:
            return self._over(flow, operator)
        except PenstockError as error:
            error.place = error.place or flow.place
            raise

    def called(self, name: str) -> FunctionDefinition | None:
        """Return the function of that name that is written in SQL, or None."""
        return self.written(name)

    def _over(self, flow: WrittenFlow, operator: Operator) -> Operator:
        graph = flow_of(flow.term, self.registry)
        output = _output_of(graph, flow.output)
        if graph.arity != 1:
            raise BadFlowError(
                f"the flow has {graph.arity} inputs, and runs over one stream",
                hint="begin with partition(n, …) or pcc(n, …), which split it",
            )
        stages = stages_of(graph, type_of(operator), output)
        return flow_operator(operator, stages, str(flow.term), self.sites)


def type_of(operator: Operator) -> StreamType:
    """Return what the items of a stream are."""
    columns = operator.schema.columns
    time = operator.times[0].column if operator.times else None
    return StreamType("items", columns, time)


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


def graph_name(stages: Stages) -> str:
    """Return a name that equal graphs of the same versions of functions have, and no others."""
    parts = [f"{stages.output}"]
    for node in stages.flow.nodes:
        sources = [f"i{s.number}" if isinstance(s, Input) else str(s) for s in node.inputs]
        parts.append(f"{_versioned(node.call)} {node.share} {node.site} {sources}")
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:DIGITS]


def patience_of(flow: Dataflow) -> float | None:
    """Return how long the branches of a flow are waited for: the longest time-out of its merges."""
    times = [node.call.parameters.get("timeout") for node in flow.nodes if len(node.inputs) > 1]
    return max(times) if times and all(each is not None for each in times) else None


def _versioned(call: Call) -> str:
    function = call.function
    given = [
        f"{name}={_versioned(value) if isinstance(value, Call) else repr(value)}"
        for name, value in call.arguments
    ]
    return f"{function.name}@{function.version}({', '.join(given)})"


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
