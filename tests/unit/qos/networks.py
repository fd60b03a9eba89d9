"""Small networks: lines, trees and joins with whole costs."""

from collections.abc import Sequence

from hypothesis import strategies as st

from penstock.qos.load.network import Network, NetworkNode
from penstock.schedule.costs.work import Crossing

Step = tuple[float, float]  # seconds and selectivity


def line(name: str, below: str, steps: Sequence[Step]) -> dict[str, NetworkNode]:
    """Return nodes in a row over a buffer: name0, name1 and so on."""
    found: dict[str, NetworkNode] = {}
    for number, (seconds, selectivity) in enumerate(steps):
        found[f"{name}{number}"] = NetworkNode({below: Crossing(seconds, selectivity)}, 100.0)
        below = f"{name}{number}"
    return found


def two_paths() -> Network:
    """Return ANA-12's example: a shared leaf of capacity 1000, and two ways above it."""
    nodes = line("leaf", "s", [(0.001, 0.5)])
    nodes |= line("a", "leaf0", [(0.002, 0.2), (0.01, 1.0)])
    nodes |= line("b", "leaf0", [(0.002, 0.2), (0.01, 1.0)])
    return Network(nodes, {"s": 200.0}, {"a": "a1", "b": "b1"})


@st.composite
def networks(draw: st.DrawFn) -> Network:
    """Draw nodes over one to three streams, some with two inputs, some that no gate may precede."""
    streams = [f"s{n}" for n in range(draw(st.integers(1, 3)))]
    names = list(streams)
    nodes: dict[str, NetworkNode] = {}
    for number in range(draw(st.integers(1, 7))):
        many = draw(st.integers(1, 2))
        inputs = (
            draw(st.lists(st.sampled_from(names), min_size=many, max_size=many, unique=True))
            if len(names) >= many
            else names[:1]
        )
        cost = st.builds(Crossing, st.sampled_from([0.1, 0.2, 0.5]), st.sampled_from([0.5, 1.0]))
        sheds = draw(st.integers(0, 5)) > 0
        processor = draw(st.sampled_from(["", "", "p"]))
        nodes[f"n{number}"] = NetworkNode(
            {each: draw(cost) for each in inputs}, 10.0, processor, sheds
        )
        names.append(f"n{number}")
    read = {below for node in nodes.values() for below in node.inputs}
    roots = {f"q{n}": n for n in nodes if n not in read or draw(st.booleans())}
    rates = {each: float(draw(st.integers(1, 9))) for each in streams}
    return Network(nodes, rates, roots, {"": 2, "p": 1})
