"""From a graph of calls to operators that run: types inferred level by level (GSDM-39)."""

from collections.abc import Sequence

from penstock.errors import BadFlowError
from penstock.functions.data.items import StreamType
from penstock.functions.flows.flow import Dataflow, FlowInput, FlowNode
from penstock.functions.operators.function import Role
from penstock.functions.operators.operator import FlowOperator
from penstock.functions.operators.transform import Partitioning, Transforming, Windowing


def operators(flow: Dataflow, types: Sequence[StreamType]) -> tuple[FlowOperator, ...]:
    """Return the operator of each node of a flow over streams of these types."""
    if len(types) != flow.arity:
        raise BadFlowError(
            f"a flow with {flow.arity} inputs cannot run over {len(types)} streams",
            hint="name one stream for each input",
        )
    origins = flow.origins()
    made: list[FlowOperator] = []
    for number, node in enumerate(flow.nodes):
        if node.call.has_branch():
            raise BadFlowError(
                f"# stands in {node.call}, and there is no branch around it",
                hint="# is the number of a branch of parallel, partition or pcc",
            )
        given = [
            types[each.number] if isinstance(each, FlowInput) else made[each].type
            for each in node.inputs
        ]
        made.append(operator_of(node, given, one_origin=len(origins[number]) == 1))
    return tuple(made)


def operator_of(node: FlowNode, given: Sequence[StreamType], *, one_origin: bool) -> FlowOperator:
    """Return the operator of one node that reads streams of these types."""
    call = node.call
    if call.role is Role.MERGE:
        made: FlowOperator = call.function.apply(tuple(given), one_origin, **call.parameters)
        return made
    if call.role is Role.SELECT:
        selecting: FlowOperator = call.function.apply(given[0], **call.parameters)
        return selecting
    kind = call.function.result_type(given[0], call.parameters)
    if node.share is not None:
        return Partitioning(call, kind, node.share.degree, node.share.branch)
    window = call.function.window
    cutter = window.bound(call.parameters) if window is not None else None
    return Transforming(call, kind) if cutter is None else Windowing(call, given[0], kind, cutter)


def result_types(flow: Dataflow, types: Sequence[StreamType]) -> tuple[StreamType, ...]:
    """Return the type of each output of a flow over streams of these types."""
    made = operators(flow, types)
    return tuple(made[each].type for each in flow.outputs)
