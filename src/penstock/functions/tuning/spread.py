"""Spreading: which flow a plan is for a function, and which function a flow spreads (GSDM-62)."""

from penstock.functions.flows.flow import Dataflow
from penstock.functions.flows.templates import central, pcc, split_of, window_distribute
from penstock.functions.operators.function import Call, Role
from penstock.functions.operators.os_join import os_join
from penstock.functions.tuning.plans import SpreadPlan, SpreadStrategy


def flow_for(function: Call, plan: SpreadPlan) -> Dataflow:
    """Return the flow that a plan is for a function."""
    if not plan.fans:
        return central(function)
    fan, inner = plan.fans[0], _inner(function, plan)
    if plan.strategy is SpreadStrategy.DISTRIBUTE:
        return window_distribute(fan, inner)
    part, combine = split_of(fan, function)
    return pcc(fan, part, inner, os_join(combine))


def written_for(function: Call, plan: SpreadPlan) -> str:
    """Return the same flow as it is written."""
    if not plan.fans:
        return f"central({function})"
    fan, is_flat = plan.fans[0], len(plan.fans) == 1
    inner = str(function) if is_flat else written_for(function, plan.inner())
    if plan.strategy is SpreadStrategy.DISTRIBUTE:
        return f"window_distribute({fan}, {inner})"
    if is_flat:
        return f"window_split({fan}, {inner})"
    part, combine = split_of(fan, function)
    return f"pcc({fan}, {part}, {inner}, os_join({combine}))"


def function_in(flow: Dataflow) -> Call | None:
    """Return the one function that a flow spreads, or None where it does something else, too.

    Only a function that takes each item for itself can be spread in another way.
    """
    inside = [node.call for node in flow.nodes if node.phase == "compute"]
    first = inside[0] if inside else None
    alike = first is not None and all(call == first for call in inside)
    if not alike or flow.arity != 1 or flow.width != 1:
        return None
    if first is None or first.role is not Role.TRANSFORM or first.function.counted:
        return None
    return first if _is_plain(flow, first) else None


def _is_plain(flow: Dataflow, function: Call) -> bool:
    """Say whether items go through the function once, whatever way they take."""
    times: list[int] = []
    for node in flow.nodes:
        before = [times[each] for each in node.inputs if isinstance(each, int)]
        times.append(max(before, default=0) + (node.call == function and node.phase == "compute"))
    return times[flow.outputs[0]] == 1


def _inner(function: Call, plan: SpreadPlan) -> Call | Dataflow:
    return flow_for(function, plan.inner()) if len(plan.fans) > 1 else function
