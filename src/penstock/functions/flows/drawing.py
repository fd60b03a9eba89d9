"""A flow as text for people: a line for each site, with what stands on it and what it reads."""

from penstock.functions.flows.flow import Dataflow, FlowInput, FlowNode


def drawn(flow: Dataflow) -> str:
    """Return the sites of a flow, level by level."""
    head = f"flow: {flow.arity} in, {flow.width} out, {_count(len(flow.sites), 'site')}"
    lines = [head]
    for site in flow.sites:
        numbers = [at for at, node in enumerate(flow.nodes) if node.site == site]
        level = min(flow.levels[at] for at in numbers)
        for place, at in enumerate(numbers):
            label = f"site {site}" if place == 0 else " " * len(f"site {site}")
            lines.append(f"{'  ' * (level + 1)}{label}  {_shown(flow, at)}")
    return "\n".join(lines)


def _shown(flow: Dataflow, number: int) -> str:
    node = flow.nodes[number]
    outputs = [f"out {at}" for at, each in enumerate(flow.outputs) if each == number]
    towards = f" -> {', '.join(outputs)}" if outputs else ""
    return (
        f"[{number}] {_called(node)} <- {', '.join(_source(each) for each in node.inputs)}{towards}"
    )


def _called(node: FlowNode) -> str:
    if node.share is None:
        return str(node.call)
    return f"{node.call} {node.share.branch} of {node.share.degree}"


def _source(source: FlowInput | int) -> str:
    return f"in {source.number}" if isinstance(source, FlowInput) else f"[{source}]"


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
