"""What a simulation starts from: the graph and what it was seen to cost, as JSON data."""

from typing import Any

from penstock.model.own_names import readable
from penstock.plan.operators import key
from penstock.runtime.loop.supervisor import Supervisor
from penstock.runtime.quality.quality import net_share
from penstock.runtime.topology.topology import Topology
from penstock.schedule import Observation
from penstock.schedule.costs.observation import OperatorFigures
from penstock.schedule.costs.shape import shape_of

FORMAT = 1


def simulation_input(supervisor: Supervisor, now: float) -> dict[str, Any]:
    """Return everything; while quiesced."""
    topology = supervisor.topology
    shape = shape_of(supervisor.shared_graph())
    seen = supervisor.statistics.observation(topology, now)
    run_seconds = supervisor.statistics.run_seconds(now)
    texts = {
        key(m): readable(m.text()) for live in topology.units.values() for m in live.unit.members()
    }
    net = {
        key(m): net_share(supervisor.statistics.record(name, now), run_seconds)
        for name, live in topology.units.items()
        for m in live.unit.members()
    }
    nodes = [
        {
            "node": name,
            "text": texts.get(name, ""),
            "inputs": list(below),
            **_figures(seen.operator(name), net.get(name, 1.0)),
        }
        for name, below in shape.inputs.items()
        if name not in shape.streams
    ]
    return {
        "format": FORMAT,
        "slots": supervisor.slots,
        "strategy": supervisor.control.chosen.text(),
        "run_seconds": run_seconds,
        "streams": [
            _stream(topology, name, seen) for name in shape.inputs if name in shape.streams
        ],
        "nodes": nodes,
        "queries": [
            {
                "query": name,
                "root": root,
                "weight": seen.query(name).weight,
                "priority": seen.query(name).priority,
            }
            for name, root in shape.roots.items()
        ],
    }


def _figures(figures: OperatorFigures, net: float) -> dict[str, float | None]:
    """Return figures that are known; JSON has no word for the others but null."""
    seconds, selectivity, size = figures.seconds, figures.selectivity, figures.tuple_bytes
    return {
        "seconds": seconds.value * net if seconds.weight > 0 else None,
        "selectivity": selectivity.value if selectivity.weight > 0 else None,
        "tuple_bytes": size.value if size.weight > 0 else None,
    }


def _stream(topology: Topology, name: str, seen: Observation) -> dict[str, Any]:
    source_reader = topology.source_readers.get(name)
    figures = seen.operator(name)
    valid_for = source_reader.definition.valid_for if source_reader is not None else None
    rows = (
        source_reader.rows / source_reader.number
        if source_reader is not None and source_reader.number
        else 1.0
    )
    return {
        "node": name,
        "stream": source_reader.definition.name if source_reader is not None else name,
        "rate": figures.rate.or_else(0.0),
        "train_rows": max(1.0, rows),
        "tuple_bytes": figures.tuple_bytes.or_else(100.0),
        "valid_for_seconds": None if valid_for is None else valid_for.total_seconds(),
    }
