"""Templates: ways to spread functions over sites (GSDM-23 to GSDM-29).

Where a function is expected, a flow with one input and one output can stand: each branch then gets
a copy of it, and so templates nest to trees. `#` as a parameter is the number of the branch of the
innermost template around it.
"""

from dataclasses import replace

from penstock.errors import BadFlowError
from penstock.functions.flows.flow import (
    BranchShare,
    Dataflow,
    FlowInput,
    FlowNode,
    beside,
    connected,
    sharing,
)
from penstock.functions.library.partitions import rr_part
from penstock.functions.operators.function import Call, Function, Role, as_call
from penstock.functions.operators.os_join import os_join
from penstock.functions.operators.s_merge import s_merge

Part = Function | Call | Dataflow


def central(function: Part, inputs: int = 1) -> Dataflow:
    """Return a function on one site; one that merges can have several inputs."""
    if isinstance(function, Dataflow):
        refuse_auto(function)
        if function.arity != inputs:
            raise BadFlowError(
                f"a flow with {function.arity} inputs cannot have {inputs}",
                hint="leave the number of inputs out",
            )
        return function.on_site(0)
    call = as_call(function)
    if inputs < 1:
        raise BadFlowError(f"{call} cannot have {inputs} inputs", hint="at least 1")
    if call.role is Role.COMBINE:
        raise BadFlowError(
            f"{call} combines parts, and parts have to be matched first",
            hint=f"write os_join({call})",
        )
    if call.role is Role.PARTITION:
        raise BadFlowError(
            f"{call} gives branches their share, and there is no branch",
            hint=f"write partition(n, {call})",
        )
    if inputs > 1 and call.role is not Role.MERGE:
        raise BadFlowError(
            f"{call} takes one stream, not {inputs}",
            hint="streams are brought together by s_merge or os_join",
        )
    return Dataflow((FlowNode(call, tuple(map(FlowInput, range(inputs))), 0),), inputs, (0,))


class Auto(Dataflow):
    """A flow of one function that is spread in the way that is measured to be best."""

    @property
    def call(self) -> Call:
        """Return the function."""
        return self.nodes[0].call


def auto(function: Function | Call) -> Auto:
    """Return a function on one site, for a start: how it is spread is chosen by measuring."""
    if not isinstance(function, Function | Call):
        raise BadFlowError("auto spreads one function", hint="such as auto(fft3)")
    call = as_call(function)
    if call.role is Role.SELECT:
        raise BadFlowError(
            f"{call} is in SQL, which Spark spreads by itself", hint=f"write FLOW {call} OVER …"
        )
    if call.role is not Role.TRANSFORM or call.function.counted:
        raise BadFlowError(
            f"{call} cannot be spread: it does not take each item for itself",
            hint=f"let it run in one place: central({call})",
        )
    flow = central(call)
    return Auto(flow.nodes, flow.arity, flow.outputs)


def partition(n: int, function: Part) -> Dataflow:
    """Return one site that splits a stream in `n`: output i is the share of branch i."""
    checked_degree("partition", n)
    branches = []
    for number in range(n):
        if isinstance(function, Dataflow):
            refuse_auto(function)
            branches.append(in_branch(checked_branch("partition", function), number))
            continue
        call = as_call(function).in_branch(number)
        if call.role is not Role.PARTITION:
            raise BadFlowError(
                f"{call} cannot split a stream: that is a {call.role.value}",
                hint="such as partition(4, rr_part)",
            )
        branches.append(
            Dataflow((FlowNode(call, (FlowInput(0),), 0, BranchShare(number, n)),), 1, (0,))
        )
    return sharing(beside(branches)).on_site(0)


def parallel(n: int, function: Part) -> Dataflow:
    """Return `n` copies of a function, each on sites of its own: input i to output i."""
    checked_degree("parallel", n)
    flow = checked_branch("parallel", _flow(function))
    return beside([in_branch(flow, number) for number in range(n)])


def pipe(*parts: Part) -> Dataflow:
    """Return parts one after another: the outputs of each are the inputs of the next."""
    if not parts:
        raise BadFlowError("a pipe of nothing", hint="such as pipe(fft3, polarize)")
    flow = _flow(parts[0])
    for number, part in enumerate(parts[1:], start=1):
        after = _flow(part)
        if flow.width != after.arity:
            raise BadFlowError(
                f"part {number - 1} of the pipe has {flow.width} outputs, "
                f"part {number} has {after.arity} inputs",
                hint="partition(n, …) has n outputs, parallel(n, …) n of each, "
                "central(s_merge, n) n inputs",
            )
        flow = connected(flow, after)
    return flow


def pcc(n: int, part: Part, function: Part, combine: Part) -> Dataflow:
    """Return partition, compute, combine: `n` branches between one split and one merge."""
    checked_degree("pcc", n)
    if isinstance(combine, Dataflow):
        raise BadFlowError(
            "the branches of pcc end in a function that merges, not in a flow",
            hint="such as s_merge(timeout=0.1) or os_join(fft3_combine)",
        )
    if as_call(combine).role is not Role.MERGE:
        raise BadFlowError(
            f"{as_call(combine)} cannot bring the branches of pcc together",
            hint="such as s_merge(timeout=0.1) or os_join(fft3_combine)",
        )
    return pipe(partition(n, part), parallel(n, function), central(combine, n))


def window_split(n: int, function: Function | Call) -> Dataflow:
    """Return a flow that computes each item in `n` parts, split as it can be (GSDM-31)."""
    part, combine = split_of(n, as_call(function))
    return pcc(n, part, function, os_join(combine))


def window_distribute(n: int, function: Part, timeout: float | None = None) -> Dataflow:
    """Return a flow that sends whole items to `n` branches in turn (GSDM-32)."""
    flow = each_for_itself(_flow(function))
    return pcc(n, rr_part, flow, s_merge(timeout))


def split_of(n: int, call: Call) -> tuple[Call, Call]:
    """Return what splits the items of a function in `n`, and what combines the results."""
    split = call.function.split
    if split is None:
        raise BadFlowError(
            f"nobody has said how {call} is computed in parts",
            hint="window_distribute sends whole items to branches",
        )
    if not split.allows(n):
        raise BadFlowError(f"{call} cannot be split in {n}", hint=f"take {split.degrees}")
    return call.sharing(split.part), call.sharing(split.combine)


def each_for_itself(flow: Dataflow) -> Dataflow:
    """Refuse a flow that needs neighbouring items, which other branches get."""
    for node in flow.nodes:
        if node.call.role is Role.WINDOW:
            raise BadFlowError(
                f"{node.call} needs neighbouring items, and these go to other branches",
                hint=f"let it run in one place: central({node.call})",
            )
    return flow


def replicated(n: int, flow: Part) -> Dataflow:
    """Return a flow each of whose outputs is there `n` times."""
    checked_degree("replicated", n)
    once = _flow(flow)
    return replace(once, outputs=tuple(each for each in once.outputs for _ in range(n)))


def checked_degree(template: str, n: object) -> None:
    """Refuse a number of branches that is none."""
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise BadFlowError(
            f"{template} cannot have {n!r} branches", hint="a whole number from 1 on"
        )


def checked_branch(template: str, flow: Dataflow) -> Dataflow:
    """Refuse a branch that is not one stream in and one stream out."""
    if (flow.arity, flow.width) != (1, 1):
        raise BadFlowError(
            f"a branch of {template} has {flow.arity} inputs and {flow.width} outputs",
            hint="a branch has one of each",
        )
    return flow


def in_branch(flow: Dataflow, number: int) -> Dataflow:
    """Return the flow as branch `number` has it: `#` replaced."""
    return flow.with_calls(lambda call: call.in_branch(number))


def refuse_auto(flow: Dataflow) -> None:
    """Refuse `auto` inside of another template: it would be measured with its neighbours."""
    if isinstance(flow, Auto):
        raise BadFlowError(
            "auto is a whole flow, and stands in no other",
            hint="let another query run over what it gives",
        )


def _flow(part: Part) -> Dataflow:
    if not isinstance(part, Dataflow):
        return central(part)
    refuse_auto(part)
    return part
