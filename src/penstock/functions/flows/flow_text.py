"""A flow as text that a catalog can keep, and back: canonical JSON, equal for equal flows."""

import json
from collections.abc import Mapping
from typing import Any

from penstock.errors import BadFlowError
from penstock.functions.flows.flow import BranchShare, Dataflow, FlowInput, FlowNode
from penstock.functions.library.registry import Registry
from penstock.functions.operators.function import Call


def to_text(flow: Dataflow) -> str:
    """Return a flow as JSON: functions by name and version, inputs as `"#0"`, nodes as numbers."""
    return json.dumps(
        {
            "arity": flow.arity,
            "nodes": [_told(node) for node in flow.nodes],
            "outputs": list(flow.outputs),
        },
        sort_keys=True,
        separators=(",", ":"),
    )


def from_text(text: str, registry: Registry) -> Dataflow:
    """Return the flow of a text, its functions looked up in the registry."""
    try:
        told = json.loads(text)
        nodes = tuple(_node(each, registry) for each in told["nodes"])
        arity, outputs = int(told["arity"]), tuple(int(each) for each in told["outputs"])
    except (ValueError, KeyError, TypeError) as error:
        raise BadFlowError(
            f"a text is not that of a flow: {error!r}", hint="write it by to_text"
        ) from error
    return Dataflow(nodes, arity, outputs)


def _told(node: FlowNode) -> dict[str, Any]:
    told = _told_call(node.call)
    told["inputs"] = [
        f"#{each.number}" if isinstance(each, FlowInput) else each for each in node.inputs
    ]
    told["site"] = node.site
    if node.share is not None:
        told["share"] = [node.share.branch, node.share.degree]
    return told


def _told_call(call: Call) -> dict[str, Any]:
    return {
        "function": call.function.name,
        "version": call.function.version,
        "parameters": {
            name: _told_call(value) if isinstance(value, Call) else value
            for name, value in call.arguments
        },
    }


def _node(told: Mapping[str, Any], registry: Registry) -> FlowNode:
    inputs = tuple(
        FlowInput(int(each[1:])) if isinstance(each, str) else int(each) for each in told["inputs"]
    )
    share = BranchShare(*told["share"]) if "share" in told else None
    return FlowNode(_call(told, registry), inputs, int(told["site"]), share)


def _call(told: Mapping[str, Any], registry: Registry) -> Call:
    function = registry[told["function"]]
    if function.version != told["version"]:
        raise BadFlowError(
            f"the flow was made with version {told['version']} of {function.name}, "
            f"and there is version {function.version}",
            hint="make the flow anew",
        )
    values = {
        name: _call(value, registry) if isinstance(value, Mapping) else value
        for name, value in told["parameters"].items()
    }
    return function(**values)
