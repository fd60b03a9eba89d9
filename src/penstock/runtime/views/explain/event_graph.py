"""EXPLAIN EVENT: the detection graph of an event, and who shares each node of it."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from penstock.engine.states.events.detection import Detection
from penstock.events.detection.detector import NodeFacts
from penstock.model.events import Mode
from penstock.model.own_names import readable
from penstock.plan.explain.explain import explain
from penstock.plan.operators import Detect, Operator, Scan, key, walk
from penstock.plan.operators.bundles.event_member import asking
from penstock.plan.operators.detect import bases_of, with_spans
from penstock.plan.operators.graph import Graph
from penstock.runtime.loop.supervisor import Supervisor
from penstock.runtime.names.directory import Directory, KnownEvent
from penstock.runtime.topology.topology import Topology
from penstock.runtime.views.relations.events import detection_of, uses_of
from penstock.runtime.views.relations.topology.units import short
from penstock.sql import Form


def event_text(directory: Directory, supervisor: Supervisor, name: str, form: Form) -> str:
    """Return the graph as it runs, one for each mode in use, or as it would run in mode recent."""
    known, title = directory.event(name), directory.event(name).definition.name
    with supervisor.resting():
        topology, names = supervisor.topology, _events_by_key(directory)
        roots = {use.mode: use.root for use in uses_of(known, topology)}
        roots = roots or {Mode.RECENT: known.root()}
        drawings = [_drawing(mode, root, names, topology) for mode, root in roots.items()]
        match form:
            case "TEXT":
                return "\n\n".join(_text(known, each, topology.graph) for each in drawings)
            case "JSON":
                return json.dumps({"event": title, "modes": drawings}, indent=2)
            case "DOT":
                return _dot(title, drawings)


def _drawing(
    mode: Mode, root: Operator, events: Mapping[str, list[str]], topology: Topology
) -> dict[str, Any]:
    """Return an event in one mode as JSON can hold it: its nodes, parts first."""
    detects = [node for node in walk(root) if isinstance(node, Detect)]
    nodes: list[dict[str, Any]] = []
    for detect in detects:
        running = detection_of(detect, topology)
        graph = running.detecting.graph if running is not None else _alone(detect)
        leaves = {key(each): each for each in detect.primitives}
        nodes += [_node(each, events, leaves) for each in _below(graph, key(detect))]
    above = [readable(node.text()) for node in walk(root) if node not in detects] if detects else []
    running_now = any(detection_of(detect, topology) is not None for detect in detects)
    return {
        "mode": str(mode),
        "root": key(root),
        "running": running_now or key(root) in topology.writers,
        "nodes": nodes,
        "above": [text for text in above if not text.startswith("scan ")],
    }


def _alone(detect: Detect) -> tuple[NodeFacts, ...]:
    """Return the graph that an event would have by itself."""
    return Detection.of(detect.inputs, {key(detect): detect}).detecting.graph


def _below(graph: Sequence[NodeFacts], watch: str) -> list[NodeFacts]:
    """Return the nodes of a graph that a watch needs, parts first."""
    known = {node.name: node for node in graph}
    wanted: set[str] = set()
    waiting = [node.name for node in graph if watch in node.watches]
    while waiting:
        name = waiting.pop()
        if name not in wanted and name in known:
            wanted.add(name)
            waiting += known[name].parts
    return [node for node in graph if node.name in wanted]


def _node(
    node: NodeFacts, events: Mapping[str, list[str]], leaves: Mapping[str, Operator]
) -> dict[str, Any]:
    what = with_spans(node.name)
    for name, leaf in leaves.items():
        what = what.replace(name, _leaf_text(leaf, events))
    return {
        "node": node.name,
        "what": what,
        "parts": list(node.parts),
        "events": sorted({event for watch in node.watches for event in events.get(watch, [])}),
        "held": node.held,
        "dropped": node.dropped,
    }


def _leaf_text(leaf: Operator, events: Mapping[str, list[str]]) -> str:
    """Return a primitive event by its name, or by what it does where a WHERE masks it."""
    if named := events.get(key(leaf)):
        return named[0]
    conditions = asking(leaf).conditions
    (base,) = bases_of([leaf])
    over = base.stream if isinstance(base, Scan) else f"node {short(key(base))}"
    over = events.get(key(base), [over])[0]
    return f"{{{over} MASK {' AND '.join(conditions)}}}" if conditions else over


def _events_by_key(directory: Directory) -> dict[str, list[str]]:
    """Return the events that each node is part of, by the node's key."""
    found: dict[str, list[str]] = {}
    for known in directory.events():
        for root in known.bound.values():
            for node in walk(root):
                own = isinstance(node, Detect) or key(node) == key(root)
                names = found.setdefault(key(node), []) if own else []
                if own and known.definition.name not in names:
                    names.append(known.definition.name)
    return found


def _text(event: KnownEvent, drawing: dict[str, Any], graph: Graph) -> str:
    title = event.definition.name
    if not drawing["nodes"]:
        root = event.root(Mode(drawing["mode"]))
        plan = explain(title, root, graph.with_query(title.lower(), root), [])
        return "\n".join(["primitive " + plan.partition("\n\n")[0].replace("query", "event", 1)])
    how = "as it runs" if drawing["running"] else "as it would run: nobody reads it"
    lines = [f"event {title} in mode {drawing['mode']}, {how}"]
    lines += [f"  {text}" for text in drawing["above"]]
    known = {node["node"]: node for node in drawing["nodes"]}
    read = {part for node in known.values() for part in node["parts"]}
    for top in (node for node in drawing["nodes"] if node["node"] not in read):
        lines += _tree(top, known, title, "  ")
    return "\n".join(lines)


def _tree(
    node: Mapping[str, Any], known: Mapping[str, Any], title: str, indent: str
) -> Iterator[str]:
    others = [name for name in node["events"] if name != title]
    shared = f"  shared with {', '.join(others)}" if others else ""
    held = f"  holds {node['held']:,}" if node["held"] else ""
    dropped = f"  dropped {node['dropped']:,}" if node["dropped"] else ""
    yield f"{indent}{node['what']}{shared}{held}{dropped}"
    for part in node["parts"]:
        if part in known:
            yield from _tree(known[part], known, title, indent + "  ")


def _dot(title: str, drawings: Sequence[Mapping[str, Any]]) -> str:
    lines = [f"digraph {quoted_dot(title)} {{", "  rankdir=BT;"]
    for drawing in drawings:
        for node in drawing["nodes"]:
            name = quoted_dot(f"{drawing['mode']} {node['node']}")
            label = "\n".join([node["what"], ", ".join(node["events"])]).strip()
            lines.append(f"  {name} [label={quoted_dot(label)}];")
            parts = [quoted_dot(f"{drawing['mode']} {part}") for part in node["parts"]]
            lines += [f"  {part} -> {name};" for part in parts]
    return "\n".join([*lines, "}"])


def quoted_dot(text: str) -> str:
    """Return a text as Graphviz reads it."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
